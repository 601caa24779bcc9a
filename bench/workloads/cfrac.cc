// Factors a product of two primes by the continued fraction of its square root (Morrison and Brillhart,
// with one large prime a relation), in arithmetic that allocates every number.
#include <map>
#include <optional>
#include <vector>

#include "common.h"
#include "natural.h"

namespace {

using bench::Natural;

struct Task {
  unsigned percent;  // the least share of the work for which this number is taken
  const char* number;
  const char* factor;        // one of its two
  std::uint32_t multiplier;  // makes more small primes useful
  std::size_t primes;        // in the factor base
};

constexpr Task kTasks[] = {
    {100, "47582602774358115722167492755475367767", "4839247443291043691", 7, 450},
    {10, "5104419485120662981038770659356289", "53593581952626637", 1, 300},
    {0, "3334529886179013817504980389", "37146417325471", 5, 150},
};

constexpr std::uint32_t kLargePrimeFactor = 60;  // a large prime is below this many times the last small one
constexpr std::size_t kSpare = 12;               // relations more than primes

std::uint32_t remainder_of(const Natural& n, std::uint32_t p) {
  std::uint32_t remainder;
  Natural::divide(n, p, remainder);
  return remainder;
}

std::uint32_t power_modulo(std::uint64_t base, std::uint32_t exponent, std::uint32_t p) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base = base * base % p) {
    if ((exponent & 1) != 0) result = result * base % p;
  }
  return static_cast<std::uint32_t>(result);
}

bool is_prime(std::uint32_t n) {
  for (std::uint32_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

// Only primes of which the number is a square can divide what the continued fraction yields.
std::vector<std::uint32_t> factor_base(const Natural& n, std::size_t count) {
  std::vector<std::uint32_t> primes{2};
  for (std::uint32_t p = 3; primes.size() < count; p += 2) {
    if (is_prime(p) && power_modulo(remainder_of(n, p), (p - 1) / 2, p) <= 1) primes.push_back(p);
  }
  return primes;
}

// a * a = (product of the primes to these powers) * root * root, modulo the number.
struct Relation {
  Natural a;
  std::vector<std::uint8_t> powers;  // the first one is of -1
  Natural root;
};

class Factoring {
 public:
  explicit Factoring(const Task& task)
      : number_(task.number),
        expanded_(number_ * Natural(task.multiplier)),
        primes_(factor_base(expanded_, task.primes)),
        largest_rest_(Natural(primes_.back()) * Natural(kLargePrimeFactor)) {}

  Natural factor() {
    std::size_t wanted = primes_.size() + kSpare;
    for (;;) {
      collect(wanted);
      if (std::optional<Natural> found = combine()) return *found;
      wanted += kSpare;
    }
  }

 private:
  // Goes on with the expansion until there are that many relations.
  void collect(std::size_t wanted) {
    if (q_before_.is_zero()) start();
    while (relations_.size() < wanted) {
      odd_ = !odd_;
      Natural p = quotient_ * q_ - p_;
      Natural q = (expanded_ - p * p) / q_;
      q_before_ = std::move(q_);
      p_ = std::move(p);
      q_ = std::move(q);
      try_relation();
      quotient_ = (root_ + p_) / q_;
      Natural a = (quotient_ * a_ + a_before_) % number_;
      a_before_ = std::move(a_);
      a_ = std::move(a);
    }
  }

  void start() {
    root_ = expanded_.root();
    q_before_ = expanded_;
    q_ = Natural(1);
    p_ = Natural();
    quotient_ = root_;
    a_before_ = Natural(1);
    a_ = root_ % number_;
  }

  // Is the present q a product of small primes, with at most one larger one?
  void try_relation() {
    std::vector<std::uint8_t> powers(primes_.size() + 1);
    powers[0] = odd_;
    Natural rest = q_;
    const std::size_t patience = primes_.size() / 8;
    for (std::size_t k = 0; k < primes_.size() && !rest.is(1); ++k) {
      if (k == patience && rest.length() + 1 > q_.length()) return;  // hardly any of it was small
      for (;;) {
        std::uint32_t remainder;
        Natural quotient = Natural::divide(rest, primes_[k], remainder);
        if (remainder != 0) break;
        rest = std::move(quotient);
        ++powers[k + 1];
      }
    }
    if (largest_rest_ < rest) return;
    Relation relation{a_, std::move(powers), Natural(1)};
    if (rest.is(1)) {
      relations_.push_back(std::move(relation));
      return;
    }
    const auto [twin, fresh] = partial_.try_emplace(rest.digit(0), relation);
    if (!fresh) relations_.push_back(product(relation, twin->second, rest));
  }

  Relation product(const Relation& x, const Relation& y, const Natural& extra_root) const {
    Relation result{x.a * y.a % number_, x.powers, x.root * y.root * extra_root % number_};
    for (std::size_t k = 0; k < result.powers.size(); ++k) {
      result.powers[k] = static_cast<std::uint8_t>(result.powers[k] + y.powers[k]);
    }
    return result;
  }

  // Elimination modulo 2; a row that vanishes is a square on both sides.
  std::optional<Natural> combine() const {
    const std::size_t columns = primes_.size() + 1;
    const std::size_t count = relations_.size();
    std::vector<std::vector<bool>> rows, members;
    for (std::size_t r = 0; r < count; ++r) {
      std::vector<bool> row(columns), own(count);
      for (std::size_t c = 0; c < columns; ++c) row[c] = (relations_[r].powers[c] & 1) != 0;
      own[r] = true;
      rows.push_back(std::move(row));
      members.push_back(std::move(own));
    }

    std::vector<bool> used(count);
    for (std::size_t c = 0; c < columns; ++c) {
      std::size_t pivot = 0;
      while (pivot < count && (used[pivot] || !rows[pivot][c])) ++pivot;
      if (pivot == count) continue;
      used[pivot] = true;
      for (std::size_t r = 0; r < count; ++r) {
        if (r == pivot || !rows[r][c]) continue;
        add(rows[r], rows[pivot]);
        add(members[r], members[pivot]);
      }
    }
    for (std::size_t r = 0; r < count; ++r) {
      if (used[r]) continue;
      if (std::optional<Natural> found = divisor(members[r])) return found;
    }
    return std::nullopt;
  }

  static void add(std::vector<bool>& row, const std::vector<bool>& other) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = row[k] != other[k];
  }

  std::optional<Natural> divisor(const std::vector<bool>& members) const {
    Natural x(1), y(1);
    std::vector<unsigned> powers(primes_.size() + 1);
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      if (!members[r]) continue;
      x = x * relations_[r].a % number_;
      y = y * relations_[r].root % number_;
      for (std::size_t k = 0; k < powers.size(); ++k) powers[k] += relations_[r].powers[k];
    }
    for (std::size_t k = 0; k < primes_.size(); ++k) {
      for (unsigned half = powers[k + 1] / 2; half > 0; --half) y = y * Natural(primes_[k]) % number_;
    }
    Natural found = Natural::gcd(x + y, number_);
    if (found.is(1) || found == number_) return std::nullopt;
    return found;
  }

  Natural number_;
  Natural expanded_;  // the number times the multiplier
  std::vector<std::uint32_t> primes_;
  Natural largest_rest_;

  // The expansion so far.
  Natural root_, p_, q_, q_before_, quotient_, a_, a_before_;
  bool odd_ = false;

  std::vector<Relation> relations_;
  std::map<std::uint32_t, Relation> partial_;  // by large prime
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Task* task = kTasks;
  while (arguments.percent < task->percent) ++task;
  const Natural number(task->number);
  const Natural one = Factoring(*task).factor();
  const Natural other = number / one;
  const Natural known(task->factor);
  if (!(one * other == number) || !(one == known || other == known)) {
    std::fprintf(stderr, "not the factors\n");
    return 1;
  }
  return bench::report(one.low_bits() + other.low_bits());
}
