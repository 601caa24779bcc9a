// A translation unit that keeps the compiler busy; the program prints what it computed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N>
struct Tag {
  std::array<int, N + 1> values{};
  std::map<int, std::string> names;
};

template <int N>
int use() {
  Tag<N> tag;
  std::iota(tag.values.begin(), tag.values.end(), N);
  for (int value : tag.values) tag.names[value * 7919 % 101] += std::to_string(value);
  std::variant<int, std::string, Tag<N>> any = tag;
  return std::visit(
      [](const auto& held) {
        if constexpr (requires { held.names; }) {
          return static_cast<int>(std::accumulate(held.names.begin(), held.names.end(), 0u,
                                                  [](unsigned sum, const auto& entry) {
                                                    return sum * 31 + entry.first + entry.second.size();
                                                  }));
        } else {
          return 0;
        }
      },
      any);
}

template <int... N>
std::vector<int> use_all(std::integer_sequence<int, N...>) {
  return {use<N>()...};
}

template <typename... T>
std::string join(const std::tuple<T...>& values) {
  std::ostringstream out;
  std::apply([&](const auto&... value) { ((out << value << ','), ...); }, values);
  return out.str();
}

int main() {
  unsigned sum = 0;
  for (int value : use_all(std::make_integer_sequence<int, 30>())) sum = sum * 31 + value;
  std::unordered_map<std::string, std::unique_ptr<std::function<int(int)>>> table;
  for (int i = 0; i < 1000; i++) {
    table[std::to_string(i)] = std::make_unique<std::function<int(int)>>([i](int x) { return x * i; });
  }
  for (int i = 0; i < 1000; i++) sum += (*table.at(std::to_string(i)))(i);
  std::string text = join(std::tuple(1, 2.5, "three", 'f', std::string(50, 'x')));
  text = std::regex_replace(text, std::regex("([a-z]+),"), "<$1>");
  std::printf("%u %s\n", sum, text.c_str());
}
