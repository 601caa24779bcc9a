// Parses an SML/NG document and makes it shorter until no rule helps, after the program that jemalloc's
// paper of 2006 ran (a solution of the ICFP programming contest of 2001, on 513 kB): a large tree of small
// nodes and strings, made anew by every pass over it.
//
// input=FILE names the document (bench/inputs/markup.py); sections of it stand apart by a blank line, and of
// them the first percent are taken.
#include <fstream>
#include <iostream>
#include <sstream>

#include "common.h"
#include "smlng_rules.h"

namespace {

using namespace smlng;

// What the first sections of the input come to, where it is known.
constexpr struct {
  unsigned percent;
  std::size_t before, after;
} kKnown[] = {{1, 3088, 2011}, {15, 71585, 52338}, {100, 512579, 380555}};

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw std::runtime_error(std::string("cannot read ") + path);
  return text.str();
}

std::vector<std::string> sections_of(const std::string& text, unsigned percent) {
  std::vector<std::string> sections;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", at), text.size());
    sections.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  sections.resize(std::max<std::size_t>(1, sections.size() * std::min(percent, 100u) / 100));
  return sections;
}

std::string optimized(const std::vector<std::string>& sections) {
  std::vector<Nodes> documents;
  for (const std::string& section : sections) documents.push_back(Parser(section).document());
  for (bool shorter = true; shorter;) {
    shorter = false;
    std::vector<Nodes> next;
    for (const Nodes& document : documents) {
      next.push_back(improved(document));
      shorter |= length_of(next.back()) < length_of(document);
    }
    documents = std::move(next);
  }
  std::string text;
  for (const Nodes& document : documents) text += (text.empty() ? "" : "\n") + written(document);
  return text;
}

std::uint64_t sum_of(const Meaning& meaning) {
  std::uint64_t sum = 0;
  for (const Glyph& glyph : meaning) {
    const Attributes& a = glyph.attributes;
    for (int part : {int{glyph.character}, a.bold + 2 * a.emphasis + 4 * a.italic + 8 * a.strong,
                     a.typewriter + 2 * a.underlines, int{a.size}, int{a.colour}}) {
      sum = (sum ^ static_cast<unsigned>(part)) * 0x100000001b3u;
    }
  }
  return sum;
}

bool is_known_length(unsigned percent, std::size_t before, std::size_t after) {
  for (const auto& known : kKnown) {
    if (known.percent == percent && (known.before != before || known.after != after)) {
      std::fprintf(stderr, "%zu bytes became %zu\n", before, after);
      return false;
    }
  }
  return true;
}

std::uint64_t run(const bench::Arguments& arguments) {
  const std::string input = read_file(arguments.text("input", ""));
  const std::vector<std::string> sections = sections_of(input, arguments.percent);
  std::string text;
  for (const std::string& section : sections) text += (text.empty() ? "" : "\n") + section;
  const std::string shorter = optimized(sections);
  const Meaning meaning = meaning_of(Parser(text).document(), {});
  if (!(meaning_of(Parser(shorter).document(), {}) == meaning)) {
    throw std::runtime_error("it means something else");
  }
  if (!is_known_length(arguments.percent, text.size(), shorter.size())) {
    throw std::runtime_error("it is not as short as it should be");
  }
  return sum_of(meaning) + shorter.size();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return bench::report(run(bench::Arguments(argc, argv)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
