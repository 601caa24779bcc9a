// The optimizer: rules that propose something else in place of some nodes. A proposal is taken if it means
// the same and is shorter. Each pass over a document makes a new tree.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>

#include "smlng_tree.h"

namespace smlng {

inline bool is_better(const Nodes& proposal, const Nodes& nodes, const Attributes& context) {
  if (length_of(proposal) >= length_of(nodes)) return false;
  return meaning_of(proposal, context) == meaning_of(nodes, context);
}

// Blanks in a row become one, and neighbouring texts one text.
class Squeeze {
 public:
  Nodes operator()(const Nodes& nodes, const Attributes& context) {
    Nodes result;
    for (const NodePointer& node : nodes) {
      if (!node->is_text()) {
        NodePointer element = make_element(node->tag);
        element->children = (*this)(node->children, context.under(node->tag));
        result.push_back(std::move(element));
        continue;
      }
      const std::string text = squeezed(node->text, context);
      if (text.empty()) continue;
      if (!result.empty() && result.back()->is_text()) result.back()->text += text;
      else result.push_back(make_text(text));
    }
    return result;
  }

 private:
  std::string squeezed(const std::string& text, const Attributes& context) {
    std::string result;
    for (char c : text) {
      const bool blank = is_blank(c) && !context.typewriter;
      const Glyph glyph{blank ? ' ' : c, blank ? context.of_blank() : context};
      if (blank && glyph == last_) continue;
      result += glyph.character;
      last_ = glyph;
    }
    return result;
  }

  Glyph last_{'\0', {}};
};

// A tag that changes nothing goes, and what was in it stays.
struct Prune {
  Nodes operator()(const Nodes& nodes, const Attributes& context) const {
    Nodes result;
    for (const NodePointer& node : nodes) {
      if (node->is_text()) {
        result.push_back(copy(*node));
        continue;
      }
      const Attributes inside = context.under(node->tag);
      Nodes children = (*this)(node->children, inside);
      if (meaning_of(children, inside) == meaning_of(children, context)) {
        result.splice(result.end(), children);
        continue;
      }
      NodePointer element = make_element(node->tag);
      element->children = std::move(children);
      result.push_back(std::move(element));
    }
    return result;
  }
};

// Rules for nodes that follow each other; they are given copies. An empty list proposes nothing.
using Rule = Nodes (*)(Nodes nodes);

// <T>a</T><T>b</T>, perhaps with text in between, becomes <T>ab</T>.
inline Nodes merge(Nodes nodes) {
  const Node& first = *nodes.front();
  const Node& last = *nodes.back();
  const bool same = nodes.size() > 1 && !first.is_text() && first.tag == last.tag;
  if (!same) return {};
  NodePointer merged = make_element(first.tag);
  for (NodePointer& node : nodes) {
    if (node->is_text()) merged->children.push_back(std::move(node));
    else merged->children.splice(merged->children.end(), node->children);
  }
  Nodes result;
  result.push_back(std::move(merged));
  return result;
}

// The tags of elements of which each is all that the one before it has in it.
inline std::vector<std::string> chain_of(const Node& node) {
  std::vector<std::string> tags;
  for (const Node* at = &node; !at->is_text(); at = at->children.front().get()) {
    tags.push_back(at->tag);
    if (at->children.size() != 1) break;
  }
  return tags;
}

// The same chain with one of its tags at its head.
inline NodePointer with_head(const Node& node, const std::string& head) {
  const Node* core = &node;
  Nodes inside;
  std::vector<std::string> tags = chain_of(node);
  for (std::size_t k = 1; k < tags.size(); ++k) core = core->children.front().get();
  append_copies(inside, core->children);
  tags.erase(std::find(tags.begin(), tags.end(), head));
  tags.insert(tags.begin(), head);
  for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
    NodePointer element = make_element(*tag);
    element->children.swap(inside);
    inside.push_back(std::move(element));
  }
  return std::move(inside.front());
}

// <T><V>a</V></T><V><T>b</T></V> becomes <T><V>a</V><V>b</V></T>.
inline Nodes turn_around(Nodes nodes) {
  if (nodes.front()->is_text() || nodes.back()->is_text()) return {};
  const std::vector<std::string> tags = chain_of(*nodes.front());
  const std::vector<std::string> others = chain_of(*nodes.back());
  const std::set<std::string> known(others.begin(), others.end());
  for (const std::string& tag : tags) {
    if (!known.contains(tag)) continue;
    Nodes turned;
    turned.push_back(with_head(*nodes.front(), tag));
    for (auto between = std::next(nodes.begin()); between != std::prev(nodes.end()); ++between) {
      turned.push_back(copy(**between));
    }
    turned.push_back(with_head(*nodes.back(), tag));
    return merge(std::move(turned));
  }
  return {};
}

// <T>a<V>b</V></T><V>c</V> becomes <T>a</T><V>bc</V>.
inline Nodes hand_on(Nodes nodes) {
  if (nodes.size() != 2 || nodes.front()->is_text() || nodes.back()->is_text()) return {};
  Nodes& from = nodes.front()->children;
  if (from.empty() || from.back()->is_text() || from.back()->tag != nodes.back()->tag) return {};
  Nodes& to = nodes.back()->children;
  to.splice(to.begin(), from.back()->children);
  from.pop_back();
  return nodes;
}

// <T>a</T><V><T>b</T>c</V> becomes <T>ab</T><V>c</V>.
inline Nodes hand_back(Nodes nodes) {
  if (nodes.size() != 2 || nodes.front()->is_text() || nodes.back()->is_text()) return {};
  Nodes& from = nodes.back()->children;
  if (from.empty() || from.front()->is_text() || from.front()->tag != nodes.front()->tag) return {};
  Nodes& to = nodes.front()->children;
  to.splice(to.end(), from.front()->children);
  from.pop_front();
  return nodes;
}

// A blank at the edge of an element moves out if it looks the same there: nothing is gained by itself, but
// the blanks meet others, and what they kept apart meets too.
struct Loosen {
  Nodes operator()(const Nodes& nodes, const Attributes& context) const {
    Nodes result;
    for (const NodePointer& node : nodes) {
      if (node->is_text()) {
        result.push_back(copy(*node));
        continue;
      }
      const Attributes inside = context.under(node->tag);
      NodePointer element = make_element(node->tag);
      element->children = (*this)(node->children, inside);
      const bool same = !inside.typewriter && !context.typewriter && inside.of_blank() == context.of_blank();
      const std::string before = same ? taken(element->children, true) : "";
      const std::string after = same ? taken(element->children, false) : "";
      if (!before.empty()) result.push_back(make_text(before));
      result.push_back(std::move(element));
      if (!after.empty()) result.push_back(make_text(after));
    }
    return result;
  }

 private:
  static std::string taken(Nodes& children, bool front) {
    if (children.size() < 2) return "";
    std::string& text = (front ? children.front() : children.back())->text;
    const std::size_t at = front ? 0 : text.size() - 1;
    if (text.empty() || !is_blank(text[at]) || is_all_blank(text)) return "";
    text.erase(at, 1);
    return " ";
  }
};

// A rule, tried at every node of the document with the one or two behind it.
class Neighbours {
 public:
  explicit Neighbours(Rule rule) : rule_(rule) {}

  Nodes operator()(const Nodes& nodes, const Attributes& context) const {
    Nodes result;
    for (const NodePointer& node : nodes) {
      if (node->is_text()) {
        result.push_back(copy(*node));
      } else {
        NodePointer element = make_element(node->tag);
        element->children = (*this)(node->children, context.under(node->tag));
        result.push_back(std::move(element));
      }
      while (replace_last(result, 2, context) || replace_last(result, 3, context)) continue;
    }
    return result;
  }

 private:
  bool replace_last(Nodes& nodes, std::size_t count, const Attributes& context) const {
    if (nodes.size() < count) return false;
    const auto first = std::prev(nodes.end(), static_cast<std::ptrdiff_t>(count));
    Nodes present;
    present.splice(present.end(), nodes, first, nodes.end());
    Nodes copies;
    append_copies(copies, present);
    Nodes proposal = rule_(std::move(copies));
    const bool taken = !proposal.empty() && is_better(proposal, present, context);
    nodes.splice(nodes.end(), taken ? proposal : present);
    return taken;
  }

  Rule rule_;
};

// Once each rule. A document that a round does not shorten is done.
inline Nodes improved(const Nodes& document) {
  const Attributes top;
  Nodes nodes = Squeeze()(document, top);
  nodes = Prune()(nodes, top);
  nodes = Loosen()(nodes, top);
  for (Rule rule : {merge, turn_around, hand_on, hand_back}) nodes = Neighbours(rule)(nodes, top);
  return nodes;
}

}  // namespace smlng
