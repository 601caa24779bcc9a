// The form of a plot's data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acre::trace {

// Deflated without a header.
std::string deflated(const void* data, size_t bytes);
void append_base64(std::string& to, std::string_view bytes);
inline size_t base64_bytes(size_t bytes) { return (bytes + 2) / 3 * 4; }
// Shortest decimal that is the same number; null if it is not finite.
std::string json_number(double value);

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, uint8_t>) return "u8";
  if constexpr (std::is_same_v<T, uint16_t>) return "u16";
  if constexpr (std::is_same_v<T, uint32_t>) return "u32";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
}

// The members of an array: "type", "count", "data". more: members that tell how values are to be read.
std::string array_of(const char* type, size_t count, std::string_view deflated, const std::string& more = {});

template <class T>
std::string array_of(const std::vector<T>& values, const std::string& more = {}) {
  return array_of(type_name<T>(), values.size(), deflated(values.data(), values.size() * sizeof(T)), more);
}

// Each as its difference to the one before.
std::string delta_array_of(std::vector<uint32_t> values, const std::string& more = {});

// A table's columns: "columns": {NAME: {array}, …}.
class Columns {
 public:
  template <class T>
  Columns& add(const char* name, const std::vector<T>& values) {
    return add_array(name, array_of(values));
  }
  Columns& add_array(const char* name, const std::string& array) {
    text_ += (text_.empty() ? "\"" : ",\"") + std::string(name) + "\":{" + array + '}';
    return *this;
  }
  std::string members() const { return "\"columns\":{" + text_ + '}'; }

 private:
  std::string text_;
};

// Lines of the data, in memory.
class PlotLines {
 public:
  // {"name": NAME, members}
  void line(const std::string& name, std::string_view members);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace acre::trace
