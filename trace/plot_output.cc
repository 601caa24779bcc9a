#include "plot_output.h"

#include <zlib.h>

#include <charconv>
#include <cmath>
#include <new>

#include "proc.h"

namespace acre::trace {

namespace {

constexpr int kLevel = 5;

}  // namespace

std::string deflated(const void* data, size_t bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out;
  const auto* at = static_cast<const uint8_t*>(data);
  char buffer[1 << 14];
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    const size_t part = std::min<size_t>(bytes, 1u << 30);
    stream.next_in = const_cast<uint8_t*>(at);
    stream.avail_in = static_cast<uInt>(part);
    at += part;
    bytes -= part;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer);
      stream.avail_out = sizeof buffer;
      state = ::deflate(&stream, bytes == 0 ? Z_FINISH : Z_NO_FLUSH);
      out.append(buffer, sizeof buffer - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

void append_base64(std::string& to, std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  to.reserve(to.size() + base64_bytes(bytes.size()));
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    to += kDigits[group >> 18];
    to += kDigits[group >> 12 & 63];
    to += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    to += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

std::string array_of(const char* type, size_t count, std::string_view deflated, const std::string& more) {
  std::string text = "\"type\":\"" + std::string(type) + "\",\"count\":" + std::to_string(count) + more;
  text += ",\"data\":\"";
  append_base64(text, deflated);
  return text + '"';
}

std::string delta_array_of(std::vector<uint32_t> values, const std::string& more) {
  for (size_t i = values.size(); i-- > 1;) values[i] -= values[i - 1];
  return array_of(values, ",\"delta\":true" + more);
}

void PlotLines::line(const std::string& name, std::string_view members) {
  text_ += "{\"name\":" + json_string(name) + (members.empty() ? "" : ",");
  text_ += members;
  text_ += "}\n";
}

}  // namespace acre::trace
