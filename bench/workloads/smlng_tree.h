// SML/NG documents: what tags do to a character's attributes, the tree of tags, reading and writing it.
#pragma once

#include <cctype>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace smlng {

struct Attributes {
  bool bold = false, emphasis = false, italic = false, strong = false, typewriter = false;
  char underlines = 0;
  char size = '-';
  char colour = '-';

  bool operator==(const Attributes&) const = default;

  Attributes under(const std::string& tag) const {
    Attributes a = *this;
    if (tag == "B") a.bold = true;
    else if (tag == "EM") a.emphasis = !strong && !emphasis;
    else if (tag == "I") a.italic = true;
    else if (tag == "S") a.strong = true, a.emphasis = false;
    else if (tag == "TT") a.typewriter = true;
    else if (tag == "U") a.underlines = static_cast<char>(underlines < 3 ? underlines + 1 : 3);
    else if (tag == "PL") a = plain();
    else if (std::isdigit(static_cast<unsigned char>(tag[0])) != 0) a.size = tag[0];
    else a.colour = tag[0];
    return a;
  }

  // What of this can be seen of a blank.
  Attributes of_blank() const {
    Attributes a = plain();
    a.typewriter = typewriter;
    a.underlines = underlines;
    if (underlines == 0) a.colour = '-';
    return a;
  }

 private:
  Attributes plain() const {
    Attributes a;
    a.size = size;
    a.colour = colour;
    return a;
  }
};

// A character as it is seen.
struct Glyph {
  char character;
  Attributes attributes;

  bool operator==(const Glyph&) const = default;
};

using Meaning = std::vector<Glyph>;

struct Node;
using NodePointer = std::unique_ptr<Node>;
using Nodes = std::list<NodePointer>;

struct Node {
  std::string tag;   // or
  std::string text;  // not both
  Nodes children;

  bool is_text() const { return tag.empty(); }
};

inline NodePointer make_text(const std::string& text) {
  auto node = std::make_unique<Node>();
  node->text = text;
  return node;
}

inline NodePointer make_element(const std::string& tag) {
  auto node = std::make_unique<Node>();
  node->tag = tag;
  return node;
}

inline NodePointer copy(const Node& node);

inline void append_copies(Nodes& to, const Nodes& from) {
  for (const NodePointer& node : from) to.push_back(copy(*node));
}

inline NodePointer copy(const Node& node) {
  if (node.is_text()) return make_text(node.text);
  NodePointer element = make_element(node.tag);
  append_copies(element->children, node.children);
  return element;
}

inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t'; }

inline bool is_all_blank(const std::string& text) {
  for (char c : text) {
    if (!is_blank(c)) return false;
  }
  return true;
}

inline void add_meaning(Meaning& meaning, const std::string& text, const Attributes& context) {
  for (char c : text) {
    if (!is_blank(c)) {
      meaning.push_back({c, context});
      continue;
    }
    // Blanks in a row that look the same are one, but on a typewriter.
    const Glyph blank{context.typewriter ? c : ' ', context.of_blank()};
    if (context.typewriter || meaning.empty() || !(meaning.back() == blank)) meaning.push_back(blank);
  }
}

inline void add_meaning(Meaning& meaning, const Nodes& nodes, const Attributes& context) {
  for (const NodePointer& node : nodes) {
    if (node->is_text()) add_meaning(meaning, node->text, context);
    else add_meaning(meaning, node->children, context.under(node->tag));
  }
}

inline Meaning meaning_of(const Nodes& nodes, const Attributes& context) {
  Meaning meaning;
  add_meaning(meaning, nodes, context);
  return meaning;
}

inline std::size_t length_of(const Nodes& nodes) {
  std::size_t length = 0;
  for (const NodePointer& node : nodes) {
    length += node->is_text() ? node->text.size() : 2 * node->tag.size() + 5 + length_of(node->children);
  }
  return length;
}

inline std::string written(const Nodes& nodes) {
  std::string text;
  for (const NodePointer& node : nodes) {
    if (node->is_text()) text += node->text;
    else text += "<" + node->tag + ">" + written(node->children) + "</" + node->tag + ">";
  }
  return text;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Nodes document() {
    Nodes nodes = content();
    if (at_ != text_.size()) throw std::runtime_error("an end tag too many");
    return nodes;
  }

 private:
  Nodes content() {
    Nodes nodes;
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        const std::size_t end = std::min(text_.find('<', at_), text_.size());
        nodes.push_back(make_text(text_.substr(at_, end - at_)));
        at_ = end;
      } else if (text_.compare(at_, 2, "</") == 0) {
        break;
      } else {
        nodes.push_back(element());
      }
    }
    return nodes;
  }

  NodePointer element() {
    NodePointer node = make_element(tag());
    node->children = content();
    if (tag() != "/" + node->tag) throw std::runtime_error("<" + node->tag + "> is not ended");
    return node;
  }

  std::string tag() {
    const std::size_t end = text_.find('>', at_);
    if (end == std::string::npos) throw std::runtime_error("a tag is not ended");
    std::string name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return name;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace smlng
