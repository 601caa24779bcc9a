// An intrusive pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986): insert and find-min in constant time,
// removal of any element in logarithmic amortized time, no memory of its own. T has a member `HeapNode<T>
// node` and Less orders T.
#pragma once

#include "base/fatal.h"

namespace acre {

template <class T>
struct HeapNode {
  T* child = nullptr;  // leftmost child
  T* next = nullptr;   // right sibling
  T* prev = nullptr;   // left sibling, or the parent of a leftmost child
};

template <class T, class Less>
class PairingHeap {
 public:
  bool empty() const { return root_ == nullptr; }
  T* min() const { return root_; }

  void insert(T* item) {
    item->node = {};
    root_ = root_ == nullptr ? item : meld(root_, item);
  }

  void remove(T* item) {
    T* orphans = combine(item->node.child);
    if (item == root_) {
      root_ = orphans;
      if (root_ != nullptr) root_->node.prev = nullptr;
    } else {
      unlink(item);
      if (orphans != nullptr) root_ = meld(root_, orphans);
    }
    item->node = {};
  }

  // Visits every element in no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit_all(root_, visit);
  }

 private:
  static T* meld(T* a, T* b) {
    if (Less{}(*b, *a)) {
      T* other = a;
      a = b;
      b = other;
    }
    b->node.prev = a;
    b->node.next = a->node.child;
    if (a->node.child != nullptr) a->node.child->node.prev = b;
    a->node.child = b;
    a->node.next = nullptr;
    return a;
  }

  static void unlink(T* item) {
    T* before = item->node.prev;
    T* after = item->node.next;
    if (before->node.child == item) {
      before->node.child = after;
    } else {
      before->node.next = after;
    }
    if (after != nullptr) after->node.prev = before;
  }

  // Melds siblings in pairs from the left, then the pairs from the right.
  static T* combine(T* first) {
    T* pairs = nullptr;  // stack of melded pairs, through node.prev
    while (first != nullptr) {
      T* a = first;
      T* b = a->node.next;
      first = b == nullptr ? nullptr : b->node.next;
      a->node.next = nullptr;
      if (b != nullptr) {
        b->node.next = nullptr;
        a = meld(a, b);
      }
      a->node.prev = pairs;
      pairs = a;
    }
    T* result = nullptr;
    while (pairs != nullptr) {
      T* rest = pairs->node.prev;
      result = result == nullptr ? pairs : meld(result, pairs);
      pairs = rest;
    }
    return result;
  }

  template <class Visit>
  static void visit_all(T* item, Visit& visit) {
    for (; item != nullptr; item = item->node.next) {
      visit(item);
      visit_all(item->node.child, visit);
    }
  }

  T* root_ = nullptr;
};

}  // namespace acre
