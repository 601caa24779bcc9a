// An intrusive pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986): insert and find-min in constant time, removal
// of any element in logarithmic amortized time, no memory of its own. T has a member `HeapNode<T> node`; Less orders T.
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

  // Returns the first of the `most` elements nearest the root for which `fits` is true, or null. It tries the root,
  // which is the least element, first, and the others in no particular order.
  template <class Fits>
  T* find_near_root(unsigned most, Fits&& fits) const {
    for (T* item = root_; item != nullptr && most != 0; --most) {
      if (fits(item)) return item;
      item = item->node.child != nullptr ? item->node.child : next_in_preorder(item);
    }
    return nullptr;
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

  // The next element after one without children: the right sibling of the nearest ancestor, or of itself, that has one.
  T* next_in_preorder(T* item) const {
    while (item != root_ && item->node.next == nullptr) {
      while (item->node.prev->node.child != item) item = item->node.prev;  // leftmost sibling
      item = item->node.prev;                                               // parent
    }
    return item == root_ ? nullptr : item->node.next;
  }

  T* root_ = nullptr;
};

}  // namespace acre
