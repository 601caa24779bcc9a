// Reads a plot's data as its page does: lines by name, arrays by their members. A recording of a few blocks to plot.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "build.h"
#include "plot.h"

namespace acre::trace::testing {

inline std::string bytes_of_base64(const std::string& text) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t group = 0;
  unsigned bits = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    group = group << 6 | static_cast<uint32_t>(kDigits.find(letter));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits);
  }
  return bytes;
}

class PlotData {
 public:
  explicit PlotData(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      EXPECT_EQ(line.rfind("{\"name\":\"", 0), 0u);
      EXPECT_EQ(line.back(), '}');
      lines_[line.substr(9, line.find('"', 9) - 9)] = line;
    }
  }

  bool has(const std::string& name) const { return lines_.contains(name); }
  const std::string& line(const std::string& name) const { return lines_.at(name); }
  // What stands behind "MEMBER": up to the next comma, bracket or brace.
  std::string member(const std::string& name, const std::string& member) const {
    const std::string& line = lines_.at(name);
    const size_t at = line.find("\"" + member + "\":");
    if (at == std::string::npos) return "";
    const size_t start = at + member.size() + 3;
    return line.substr(start, line.find_first_of(",]}", start) - start);
  }
  double number(const std::string& name, const std::string& of) const { return std::stod(member(name, of)); }

  // The line's array, or a column's.
  std::vector<double> array(const std::string& name, const std::string& column = {}) const {
    std::string text = lines_.at(name);
    if (!column.empty()) {
      text = text.substr(text.find("\"columns\":"));
      text = text.substr(text.find("\"" + column + "\":{") + column.size() + 3);
    } else {
      text = text.substr(text.find("\"type\":"));
    }
    const auto word = [&](const std::string& key) -> std::string {
      const size_t end = text.find("\"data\":"), at = text.find("\"" + key + "\":");
      if (at > end) return "";
      return text.substr(at + key.size() + 3, text.find(',', at) - at - key.size() - 3);
    };
    const size_t data = text.find("\"data\":\"") + 8;
    const std::string packed = bytes_of_base64(text.substr(data, text.find('"', data) - data));
    const std::string type = word("type");
    const size_t count = std::stoul(word("count"));
    std::vector<double> values;
    const auto read = [&]<class T>(T) {
      std::vector<T> raw(count + 1);
      z_stream stream{};
      EXPECT_EQ(inflateInit2(&stream, -15), Z_OK);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(packed.size());
      stream.next_out = reinterpret_cast<Bytef*>(raw.data());
      stream.avail_out = static_cast<uInt>(raw.size() * sizeof(T));
      EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
      EXPECT_EQ(stream.total_out, count * sizeof(T));
      inflateEnd(&stream);
      raw.resize(count);
      if (!word("delta").empty()) {
        for (size_t i = 1; i < count; ++i) raw[i] = static_cast<T>(raw[i] + raw[i - 1]);
      }
      const auto number_of = [&](const std::string& key, double otherwise) {
        return word(key).empty() ? otherwise : std::stod(word(key));
      };
      const double none = number_of("none", NAN), scale = number_of("scale", 1), offset = number_of("offset", 0);
      for (const T value : raw) {
        const auto number = static_cast<double>(value);
        values.push_back(number == none ? NAN : offset + scale * number);
      }
    };
    if (type == "\"u8\"") read(uint8_t{});
    if (type == "\"u16\"") read(uint16_t{});
    if (type == "\"u32\"") read(uint32_t{});
    if (type == "\"f32\"") read(float{});
    if (type == "\"f64\"") read(double{});
    EXPECT_EQ(values.size(), count) << type;
    return values;
  }

 private:
  std::map<std::string, std::string> lines_;
};

// --- Recordings to plot ---

inline constexpr uint64_t kBase = 0x7f0000000000;
inline constexpr double kTick = 1e-9;

class Plot : public ::testing::Test {
 protected:
  PlotData plotted(const PlotOptions& wanted = {}) {
    PlotOptions options = wanted;
    options.path = folder / "a";
    options.output = folder / "a.plot";
    options.deepest = std::min(options.deepest, 1u);
    EXPECT_EQ(plot(options), 0);
    return PlotData(options.output);
  }
  const Folder folder;
};

inline void take(Encoder& encoder) { encoder.takeover(record::shard_of(kBase), 1, 1); }

inline BuiltBlock block_of(const Encoder& encoder, uint32_t lane = 0, uint32_t process = 0, uint64_t ticks = 0) {
  return {process, lane, 0, ticks, 0, encoder.bytes, 1};
}

}  // namespace acre::trace::testing
