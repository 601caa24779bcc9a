// sample/python_code.h: what is read of code objects, made here by hand. tests/profile/python.py has real interpreters.
#include "sample/python_code.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace acre {
namespace {

using python::CodeLayout;
using python::Description;
using python::Instruction;
using python::Place;
using python::Places;
using python::Reader;

// With a version, and without one.
constexpr CodeLayout kLayout{112, 128, 136, 68, 192, 92, 40, 56};
constexpr CodeLayout kWithoutVersion{112, 128, 136, 72, 184, 0, 48, 72};

class Object {
 public:
  explicit Object(size_t bytes) : words_(bytes / sizeof(uint64_t) + 1) {}
  Address address() const { return address_of(words_.data()); }
  void put(size_t at, const void* data, size_t bytes) {
    if (bytes != 0) memcpy(reinterpret_cast<char*>(words_.data()) + at, data, bytes);  // data may be null
  }
  template <class T>
  void put(size_t at, T value) { put(at, &value, sizeof value); }

 private:
  std::vector<uint64_t> words_;
};

class Code {
 public:
  explicit Code(const CodeLayout& layout) : layout_(layout), code_(512) {}
  unsigned flags_shift = 2;  // as up to some 3.14; 16 as from then on


  template <class Character>
  void set(size_t field, const std::basic_string<Character>& text) {
    bool is_ascii = true;
    for (Character c : text) is_ascii &= static_cast<char32_t>(c) < 128;
    const size_t start = is_ascii ? layout_.ascii_text : layout_.other_text;
    Object& string = make(start + text.size() * sizeof(Character));
    string.put(16, text.size());
    string.put(32, static_cast<uint32_t>((sizeof(Character) | 8 | (is_ascii ? 16 : 0)) << flags_shift | 3));
    string.put(start, text.data(), text.size() * sizeof(Character));
    code_.put(field, string.address());
  }
  void set_lines(uint32_t first, const std::vector<uint8_t>& table) {
    Object& bytes = make(32 + table.size());
    bytes.put(16, table.size());
    bytes.put(32, table.data(), table.size());
    code_.put(layout_.line_table, bytes.address());
    code_.put(layout_.first_line, first);
  }
  void set_version(uint32_t version) { code_.put(layout_.version, version); }

  Instruction at(int offset) const {
    Reader reader;
    return python::instruction(reader, layout_, code_.address(), code_.address() + layout_.bytecode + offset);
  }
  Description describe(int offset) const {
    Reader reader;
    Description description;
    python::describe(reader, layout_, at(offset), &description);
    return description;
  }

 private:
  Object& make(size_t bytes) {
    objects_.push_back(std::make_unique<Object>(bytes));
    return *objects_.back();
  }
  const CodeLayout& layout_;
  Object code_;
  std::vector<std::unique_ptr<Object>> objects_;
};

constexpr uint8_t entry(unsigned form, unsigned instructions) {
  return static_cast<uint8_t>(0x80 | form << 3 | (instructions - 1));
}

TEST(PythonCode, LinesOfEveryForm) {
  for (const CodeLayout& layout : {kLayout, kWithoutVersion}) {
    Code code(layout);
    code.set(layout.name, std::string("f"));
    code.set(layout.file, std::string("f.py"));
    code.set_lines(100, {
        entry(13, 1), 0,                          // without columns: line 100
        entry(0, 2), 0x12,                        // columns of a short form: line 100
        entry(12, 1), 4, 9,                       // one line: +2, line 102
        entry(14, 8), 0x40 | 8, 4, 0, 1, 2,       // all: +132 in two parts, line 234
        entry(15, 1),                             // none
        entry(13, 1), 0x40 | 7, 4,                // -131 in two parts, line 103
        entry(10, 1), 1, 2,                       // line 103
        entry(11, 1), 1, 2,                       // line 104
    });
    const uint32_t lines[] = {100, 100, 100, 102, 234, 234, 234, 234, 234, 234, 234, 234, 100, 103, 103, 104, 100};
    int offset = 0;
    for (uint32_t line : lines) {
      EXPECT_EQ(code.describe(offset).line, line) << offset;
      offset += 2;
    }
    EXPECT_EQ(code.describe(-2).line, 100u);
    EXPECT_EQ(code.describe(6).first_line, 100u);
  }
}

TEST(PythonCode, TextsAreUtf8) {
  Code code(kLayout);
  code.set_lines(1, {entry(13, 1), 0});
  code.set(kLayout.name, std::string("gr\xf6\xdf""e"));
  code.set(kLayout.file, std::u16string(u"/\u03c0/\u20ac.py"));
  Description got = code.describe(0);
  EXPECT_STREQ(got.name, "gr\u00f6\u00dfe");
  EXPECT_STREQ(got.file, "/\u03c0/\u20ac.py");
  code.set(kLayout.name, std::u32string(U"f\U0001f40d"));
  code.set(kLayout.file, std::u16string(u"a\n\xdcff\0b", 5));  // a byte that is no UTF-8, and controls
  got = code.describe(0);
  EXPECT_STREQ(got.name, "f\U0001f40d");
  EXPECT_STREQ(got.file, "a???b");
  code.flags_shift = 16;
  code.set(kLayout.name, std::string("f"));
  code.set(kLayout.file, std::u16string(u"/\u03c0"));
  got = code.describe(0);
  EXPECT_STREQ(got.name, "f");
  EXPECT_STREQ(got.file, "/\u03c0");
  code.set(kLayout.name, std::string(3000, 'n'));
  code.set(kLayout.file, std::u16string(3000, u'\u20ac'));
  got = code.describe(0);
  EXPECT_GT(strlen(got.name), sizeof got.name - 8);
  EXPECT_LT(strlen(got.name), sizeof got.name);
  EXPECT_LT(strlen(got.file), sizeof got.file);
  EXPECT_EQ(strlen(got.file) % 3, 0u);
}

TEST(PythonCode, UnreadableMemoryIsNothing) {
  void* page = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  Reader reader;
  for (Address at : {Address{0}, Address{8}, address_of(page), ~Address{0} - 7, Address{0x8000000000000000}}) {
    EXPECT_EQ(reader.word(at), 0u) << at;
    EXPECT_FALSE(reader.can_read(at, 100)) << at;
    Description description;
    python::describe(reader, kLayout, python::instruction(reader, kLayout, at, at), &description);
    EXPECT_STREQ(description.name, "");
    EXPECT_EQ(description.line, 0u);
  }
  EXPECT_FALSE(reader.can_read(address_of(&reader), ~size_t{0}));
  munmap(page, kPageBytes);
}

TEST(PythonCode, DamagedObjectsAreReadOrNot) {
  Code code(kLayout);
  code.set(kLayout.name, std::string("f"));
  code.set(kLayout.file, std::string("f.py"));
  code.set_lines(5, std::vector<uint8_t>(300, 0xff));
  EXPECT_EQ(code.describe(100).line, 5u);
  code.set_lines(5, std::vector<uint8_t>(300, entry(14, 1)));
  EXPECT_EQ(code.describe(1000000).line, 5u);  // beyond the table's end
  code.set_lines(5, {});
  EXPECT_EQ(code.describe(0).line, 5u);
}

class PythonPlaces : public testing::Test {
 protected:
  const Place* find(const Code& code, int offset) {
    const Instruction instruction = code.at(offset);
    if (const Place* known = places_.known(instruction)) return known;
    while (!places_.has_room()) {
      rooms_.emplace_back(new uint64_t[Places::kRoomBytes / sizeof(uint64_t)]());
      places_.add_room(rooms_.back().get());
    }
    return places_.find(instruction, code.describe(offset));
  }
  Places places_;
  std::vector<std::unique_ptr<uint64_t[]>> rooms_;
};

TEST_F(PythonPlaces, AreOneForEachFunctionAndLine) {
  Code code(kLayout);
  code.set(kLayout.name, std::string("f"));
  code.set(kLayout.file, std::string("f.py"));
  code.set_lines(1, {entry(0, 2), 0, entry(11, 1), 0, 0});
  code.set_version(7);
  const Place* first = find(code, 0);
  EXPECT_EQ(find(code, 2), first);
  const Place* second = find(code, 4);
  EXPECT_NE(second, first);
  EXPECT_EQ(second->function, first->function);
  EXPECT_EQ(second->line, 2u);
  EXPECT_STREQ(second->function->name, "f");
  EXPECT_STREQ(second->function->file, "f.py");
}

// Another function comes to lie where the first one was.
TEST_F(PythonPlaces, OfALaterCodeObjectAreItsOwn) {
  for (const CodeLayout& layout : {kLayout, kWithoutVersion}) {
    Code code(layout);
    code.set(layout.name, std::string("before"));
    code.set(layout.file, std::string("f.py"));
    code.set_lines(1, {entry(0, 1), 0});
    if (layout.version != 0) code.set_version(7);
    EXPECT_STREQ(find(code, 0)->function->name, "before");
    code.set(layout.name, std::string("after_"));
    if (layout.version != 0) code.set_version(8);
    EXPECT_STREQ(find(code, 0)->function->name, "after_");
    code.set_lines(1, {entry(11, 1), 0});
    if (layout.version != 0) code.set_version(9);
    EXPECT_EQ(find(code, 0)->line, 2u);
  }
}

TEST_F(PythonPlaces, AreBounded) {
  Code code(kLayout);
  code.set(kLayout.name, std::string("f"));
  code.set(kLayout.file, std::string("f.py"));
  for (unsigned i = 0; i < Places::kMost + 10; ++i) {
    code.set_lines(i + 1, {entry(0, 1), 0});
    code.set_version(i + 1);
    const Place* place = find(code, 0);
    ASSERT_STREQ(place->function->name, i < Places::kMost ? "f" : "[other Python functions]") << i;
    ASSERT_EQ(place->line, i < Places::kMost ? i + 1 : 0);
  }
}

}  // namespace
}  // namespace acre
