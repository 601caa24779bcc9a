// What the compiler is given to compile: containers, algorithms, and templates that need many instances, in
// COPIES copies of the same work on types of their own. It is never run.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#ifndef COPIES
#define COPIES 8
#endif

namespace shapes {

template <int kTag>
struct Leaf {
  int value = kTag;
  friend bool operator<(const Leaf& a, const Leaf& b) { return a.value < b.value; }
};

// Expressions as types.
template <class A, class B>
struct Sum {
  A a;
  B b;
  constexpr long eval(long x) const { return a.eval(x) + b.eval(x); }
};

template <class A, class B>
struct Product {
  A a;
  B b;
  constexpr long eval(long x) const { return a.eval(x) * b.eval(x) % 1000003; }
};

template <int kN>
struct Constant {
  constexpr long eval(long) const { return kN; }
};

struct Variable {
  constexpr long eval(long x) const { return x; }
};

template <int kDegree, int kSeed>
constexpr auto polynomial() {
  if constexpr (kDegree == 0) {
    return Constant<kSeed>{};
  } else {
    using Rest = decltype(polynomial<kDegree - 1, (kSeed * 31 + kDegree) % 1009>());
    return Sum<Product<Rest, Variable>, Constant<kSeed>>{};
  }
}

// Lists of types: sorted, made unique, folded.
template <class... T>
struct List {};

template <class T, class L>
struct Prepend;
template <class T, class... Ts>
struct Prepend<T, List<Ts...>> {
  using type = List<T, Ts...>;
};

template <int kTag, class L>
struct Insert;
template <int kTag>
struct Insert<kTag, List<>> {
  using type = List<Leaf<kTag>>;
};
template <int kTag, int kFirst, class... Ts>
struct Insert<kTag, List<Leaf<kFirst>, Ts...>> {
  static auto choose() {
    if constexpr (kTag < kFirst) return List<Leaf<kTag>, Leaf<kFirst>, Ts...>{};
    else return typename Prepend<Leaf<kFirst>, typename Insert<kTag, List<Ts...>>::type>::type{};
  }
  using type = decltype(choose());
};

template <class L, int... kTags>
struct Sorted {
  using type = L;
};
template <class L, int kTag, int... kTags>
struct Sorted<L, kTag, kTags...> : Sorted<typename Insert<kTag, L>::type, kTags...> {};

template <class... Ts>
long total(List<Ts...>) {
  std::tuple<Ts...> leaves;
  return std::apply([](const auto&... leaf) { return (0L + ... + leaf.value); }, leaves);
}

// Containers of a type of its own for each copy.
template <int kTag>
struct Work {
  using Key = Leaf<kTag>;
  using Value = std::variant<Key, std::string, std::vector<Key>>;

  std::map<Key, std::vector<Value>> table;

  void fill(int count) {
    for (int k = 0; k < count; ++k) {
      std::vector<Value>& row = table[Key{k % 17}];
      if (k % 3 == 0) row.emplace_back(Key{k});
      else if (k % 3 == 1) row.emplace_back(std::to_string(k));
      else row.emplace_back(std::vector<Key>(static_cast<std::size_t>(k % 5)));
    }
  }

  long fold() const {
    long sum = 0;
    for (const auto& [key, row] : table) {
      for (const Value& value : row) {
        sum += std::visit([&](const auto& held) { return weight(held); }, value) + key.value;
      }
    }
    return sum;
  }

  std::optional<Key> largest() const {
    std::vector<Key> keys;
    for (const auto& entry : table) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return b < a; });
    std::erase_if(keys, [](const Key& k) { return k.value % 2 == 1; });
    return keys.empty() ? std::nullopt : std::optional(keys.front());
  }

 private:
  static long weight(const Key& key) { return key.value; }
  static long weight(const std::string& text) { return static_cast<long>(text.size()); }
  static long weight(const std::vector<Key>& keys) { return static_cast<long>(keys.size()) * 3; }
};

template <int kTag>
long one() {
  Work<kTag> work;
  work.fill(100 + kTag);
  constexpr auto p = polynomial<24, kTag + 2>();
  static_assert(p.eval(0) == kTag + 2);
  using Tags = typename Sorted<List<>, (kTag * 7 + 1) % 13, (kTag * 5 + 2) % 17, (kTag * 3 + 3) % 19, kTag,
                               11, 4, (kTag * 11) % 23, (kTag * 13) % 29>::type;
  const auto best = work.largest();
  return work.fold() + p.eval(kTag) + total(Tags{}) + (best ? best->value : 0);
}

template <int... kTags>
long all(std::integer_sequence<int, kTags...>) {
  return (0L + ... + one<kTags>());
}

}  // namespace shapes

extern "C" long compiled_answer() { return shapes::all(std::make_integer_sequence<int, COPIES>{}); }
