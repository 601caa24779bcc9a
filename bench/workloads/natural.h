// Natural numbers of any size. Every result is a block of its own, of 8 to some tens of bytes, counted by
// references: the allocation pattern of a symbolic calculator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace bench {

class Natural {
 public:
  Natural(std::uint32_t value = 0) : digits_(make(value != 0)) {
    if (value != 0) digits_->at[0] = value;
  }

  explicit Natural(const char* decimal) : Natural() {
    for (; *decimal != '\0'; ++decimal) {
      *this = *this * Natural(10) + Natural(static_cast<std::uint32_t>(*decimal - '0'));
    }
  }

  Natural(const Natural& other) : digits_(other.digits_) { ++digits_->references; }
  Natural(Natural&& other) noexcept : digits_(std::exchange(other.digits_, nullptr)) {}
  Natural& operator=(Natural other) noexcept {
    std::swap(digits_, other.digits_);
    return *this;
  }
  ~Natural() {
    if (digits_ != nullptr && --digits_->references == 0) std::free(digits_);
  }

  std::uint32_t length() const { return digits_->length; }
  std::uint32_t digit(std::uint32_t k) const { return digits_->at[k]; }
  bool is_zero() const { return length() == 0; }
  bool is(std::uint32_t value) const { return length() == 1 && digit(0) == value; }

  static int compare(const Natural& a, const Natural& b) {
    if (a.length() != b.length()) return a.length() < b.length() ? -1 : 1;
    for (std::uint32_t k = a.length(); k-- > 0;) {
      if (a.digit(k) != b.digit(k)) return a.digit(k) < b.digit(k) ? -1 : 1;
    }
    return 0;
  }
  friend bool operator<(const Natural& a, const Natural& b) { return compare(a, b) < 0; }
  friend bool operator==(const Natural& a, const Natural& b) { return compare(a, b) == 0; }

  friend Natural operator+(const Natural& a, const Natural& b) {
    if (a.length() < b.length()) return b + a;
    Natural sum(make(a.length() + 1));
    std::uint64_t carry = 0;
    for (std::uint32_t k = 0; k < a.length(); ++k) {
      carry += std::uint64_t{a.digit(k)} + (k < b.length() ? b.digit(k) : 0);
      sum.digits_->at[k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    sum.digits_->at[a.length()] = static_cast<std::uint32_t>(carry);
    return sum.trimmed();
  }

  // a must not be less than b.
  friend Natural operator-(const Natural& a, const Natural& b) {
    Natural difference(make(a.length()));
    std::int64_t borrow = 0;
    for (std::uint32_t k = 0; k < a.length(); ++k) {
      borrow += std::int64_t{a.digit(k)} - (k < b.length() ? b.digit(k) : 0);
      difference.digits_->at[k] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    return difference.trimmed();
  }

  friend Natural operator*(const Natural& a, const Natural& b) {
    Natural product(make(a.length() + b.length()));
    std::memset(product.digits_->at, 0, sizeof(std::uint32_t) * product.length());
    for (std::uint32_t i = 0; i < a.length(); ++i) {
      std::uint64_t carry = 0;
      for (std::uint32_t k = 0; k < b.length(); ++k) {
        carry += std::uint64_t{a.digit(i)} * b.digit(k) + product.digit(i + k);
        product.digits_->at[i + k] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
      product.digits_->at[i + b.length()] = static_cast<std::uint32_t>(carry);
    }
    return product.trimmed();
  }

  static Natural divide(const Natural& a, std::uint32_t b, std::uint32_t& remainder) {
    Natural quotient(make(a.length()));
    std::uint64_t rest = 0;
    for (std::uint32_t k = a.length(); k-- > 0;) {
      rest = rest << 32 | a.digit(k);
      quotient.digits_->at[k] = static_cast<std::uint32_t>(rest / b);
      rest %= b;
    }
    remainder = static_cast<std::uint32_t>(rest);
    return quotient.trimmed();
  }

  static Natural divide(const Natural& a, const Natural& b, Natural& remainder);

  friend Natural operator/(const Natural& a, const Natural& b) {
    Natural remainder;
    return divide(a, b, remainder);
  }
  friend Natural operator%(const Natural& a, const Natural& b) {
    Natural remainder;
    divide(a, b, remainder);
    return remainder;
  }

  Natural halved() const {
    std::uint32_t remainder;
    return divide(*this, 2, remainder);
  }

  // The largest number whose square is not above this one.
  Natural root() const {
    if (is_zero()) return *this;
    Natural guess(make(length() / 2 + 2));  // a power of two above the root
    std::memset(guess.digits_->at, 0, sizeof(std::uint32_t) * guess.length());
    guess.digits_->at[guess.length() - 1] = 1;
    for (;;) {
      Natural next = (guess + *this / guess).halved();
      if (!(next < guess)) return guess;
      guess = std::move(next);
    }
  }

  static Natural gcd(Natural a, Natural b) {
    while (!b.is_zero()) {
      Natural rest = a % b;
      a = std::move(b);
      b = std::move(rest);
    }
    return a;
  }

  std::uint64_t low_bits() const {
    return (length() > 0 ? digit(0) : 0) | std::uint64_t{length() > 1 ? digit(1) : 0} << 32;
  }

 private:
  struct Digits {
    std::uint32_t references;
    std::uint32_t length;  // no leading zeros
    std::uint32_t at[];    // least significant first
  };

  explicit Natural(Digits* digits) : digits_(digits) {}

  static Digits* make(std::uint32_t length) {
    auto* digits = static_cast<Digits*>(std::malloc(sizeof(Digits) + sizeof(std::uint32_t) * length));
    if (digits == nullptr) std::abort();
    digits->references = 1;
    digits->length = length;
    return digits;
  }

  Natural&& trimmed() {
    while (length() > 0 && digit(length() - 1) == 0) --digits_->length;
    return std::move(*this);
  }

  Natural shifted_left(unsigned bits) const {  // fewer than 32; one digit longer, and not trimmed
    Natural result(make(length() + 1));
    std::uint32_t carry = 0;
    for (std::uint32_t k = 0; k < length(); ++k) {
      const std::uint64_t wide = std::uint64_t{digit(k)} << bits | carry;
      result.digits_->at[k] = static_cast<std::uint32_t>(wide);
      carry = static_cast<std::uint32_t>(wide >> 32);
    }
    result.digits_->at[length()] = carry;
    return result;
  }

  Digits* digits_;
};

// Long division as one does it by hand: the divisor is shifted until its first digit has its top bit
// set, so that a digit guessed from the first two is at most two too large.
inline Natural Natural::divide(const Natural& a, const Natural& b, Natural& remainder) {
  if (a < b) {
    remainder = a;
    return Natural();
  }
  if (b.length() == 1) {
    std::uint32_t rest;
    Natural quotient = divide(a, b.digit(0), rest);
    remainder = Natural(rest);
    return quotient;
  }

  const std::uint32_t n = b.length();
  const std::uint32_t steps = a.length() - n + 1;
  const auto shift = static_cast<unsigned>(__builtin_clz(b.digit(n - 1)));
  Natural rest = a.shifted_left(shift);
  const Natural divisor = b.shifted_left(shift);
  std::uint32_t* u = rest.digits_->at;
  const std::uint32_t* v = divisor.digits_->at;

  Natural quotient(make(steps));
  for (std::uint32_t k = steps; k-- > 0;) {
    const std::uint64_t top = std::uint64_t{u[k + n]} << 32 | u[k + n - 1];
    std::uint64_t guess = std::min<std::uint64_t>(top / v[n - 1], UINT32_MAX);
    std::uint64_t left = top - guess * v[n - 1];
    while (left <= UINT32_MAX && guess * v[n - 2] > (left << 32 | u[k + n - 2])) {
      --guess;
      left += v[n - 1];
    }
    std::uint64_t carry = 0;
    std::int64_t borrow = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      carry += guess * v[i];
      borrow += std::int64_t{u[k + i]} - static_cast<std::uint32_t>(carry);
      u[k + i] = static_cast<std::uint32_t>(borrow);
      carry >>= 32;
      borrow >>= 32;
    }
    borrow += std::int64_t{u[k + n]} - static_cast<std::int64_t>(carry);
    u[k + n] = static_cast<std::uint32_t>(borrow);
    if (borrow < 0) {  // still one too large: take one back
      --guess;
      carry = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        carry += std::uint64_t{u[k + i]} + v[i];
        u[k + i] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
      u[k + n] += static_cast<std::uint32_t>(carry);
    }
    quotient.digits_->at[k] = static_cast<std::uint32_t>(guess);
  }

  for (std::uint32_t k = 0; k < n; ++k) {
    u[k] = static_cast<std::uint32_t>((std::uint64_t{u[k + 1]} << 32 | u[k]) >> shift);
  }
  rest.digits_->length = n;
  remainder = rest.trimmed();
  return quotient.trimmed();
}

}  // namespace bench
