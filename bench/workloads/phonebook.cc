// A phone book is made from a list of names by several threads, after the list-append exercise by which
// SuperMalloc was studied: each thread goes through its part of the list, allocates an entry for each name
// and appends it to its own list, or (shared=1) all threads append to one. Then the threads are gone, and
// the main thread reads the whole book and frees it. That book after book. The list itself is made before the
// seconds that are judged.
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "common.h"
#include "share.h"
#include "threads.h"

namespace {

constexpr unsigned long kBooks = 60;
constexpr unsigned long kNames = 350'000;  // in a book

struct Entry {
  Entry* next;
  std::uint32_t length;
  char name[];
};

// Names of two to five syllables, one a line, as in a file; and where each begins, and at last the end.
struct Directory {
  std::string text;
  std::vector<std::uint32_t> begins;

  Directory() {
    static constexpr char kOnsets[][3] = {"b", "ch", "d", "f", "g", "k", "l",
                                          "m", "n", "r", "s", "st", "t", "v"};
    static constexpr char kRests[][3] = {"a", "an", "e", "el", "er", "i", "in", "o", "on", "u"};
    bench::Random random(350);
    text.reserve(kNames * 16);
    begins.reserve(kNames + 1);
    for (unsigned long i = 0; i < kNames; ++i) {
      begins.push_back(static_cast<std::uint32_t>(text.size()));
      for (unsigned left = random.between(2, 5); left > 0; --left) {
        text += kOnsets[random.below(std::size(kOnsets))];
        text += kRests[random.below(std::size(kRests))];
      }
      text += '\n';
    }
    begins.push_back(static_cast<std::uint32_t>(text.size()));
  }

  // Without the end of the line.
  std::string_view operator[](unsigned long number) const {
    return std::string_view(text).substr(begins[number], begins[number + 1] - begins[number] - 1);
  }
};

std::uint64_t hash(std::string_view name) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (char letter : name) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return value;
}

Entry* make_entry(std::string_view name) {
  auto* entry = static_cast<Entry*>(bench::allocate(sizeof(Entry) + name.size() + 1));
  entry->next = nullptr;
  entry->length = static_cast<std::uint32_t>(name.size());
  std::memcpy(entry->name, name.data(), name.size());
  entry->name[name.size()] = 0;
  return entry;
}

// A list with room for any number of appending threads; read when they are gone.
class Book {
 public:
  void append(Entry* entry) {
    Entry* before = last_.exchange(entry, std::memory_order_acq_rel);
    (before != nullptr ? before->next : first_) = entry;
  }

  // Frees the entries. -> the sum of what their names hash to
  std::uint64_t read_and_free() {
    std::uint64_t sum = 0;
    for (Entry* entry = first_; entry != nullptr;) {
      Entry* next = entry->next;
      sum += hash({entry->name, entry->length});
      bench::release(entry);
      entry = next;
    }
    return sum;
  }

 private:
  alignas(64) std::atomic<Entry*> last_{nullptr};
  Entry* first_ = nullptr;
};

std::uint64_t make_and_drop(const Directory& names, unsigned threads, bool shared) {
  std::vector<Book> books(shared ? 1 : threads);
  bench::in_threads(threads, [&](unsigned number) {
    const bench::Share share(kNames, number, threads);
    Book& book = books[shared ? 0 : number];
    for (unsigned long at = share.first; at < share.last; ++at) book.append(make_entry(names[at]));
    bench::count_operations(share.size());
    return 0ul;
  });
  std::uint64_t sum = 0;
  for (Book& book : books) sum += book.read_and_free();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const bool shared = arguments.number("shared", 0) != 0;
  const Directory names;
  std::uint64_t expected = 0;
  for (unsigned long at = 0; at < kNames; ++at) expected += hash(names[at]);
  const bench::Clock::time_point begin = bench::Clock::now();
  for (unsigned long left = arguments.scaled(kBooks); left > 0; --left) {
    if (make_and_drop(names, arguments.threads, shared) != expected) {
      std::fprintf(stderr, "the book does not have the names of the list\n");
      return 1;
    }
  }
  bench::judged_seconds(bench::seconds_since(begin));
  return bench::report(expected);
}
