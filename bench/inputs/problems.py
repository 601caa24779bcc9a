"""Problems in SMT-LIB 2 for a solver, with the answers that are known from how they were made."""

import random

SEED = 3
ROUNDS = 7  # at 100 % of the work


def pigeons(rng, size):
    """One more pigeon than holes."""
    lines = [f"(declare-const p{p}h{h} Bool)" for p in range(size + 1) for h in range(size)]
    order = list(range(size + 1))
    rng.shuffle(order)
    lines += [f"(assert (or {' '.join(f'p{p}h{h}' for h in range(size))}))" for p in order]
    for h in range(size):
        for p in range(size + 1):
            lines += [f"(assert (or (not p{p}h{h}) (not p{q}h{h})))" for q in range(p)]
    return "unsat", lines


def is_prime(number):
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def factors(rng, bits):
    """A number is a product of two others; of a prime that cannot be."""
    limit = 1 << (bits // 2)
    primes = [n for n in range(limit // 2, limit) if is_prime(n)]
    answer = rng.choice(("sat", "unsat"))
    product = rng.choice(primes) * rng.choice(primes)
    if answer == "unsat":
        product = next(n for n in range(product, 2 * product) if is_prime(n))
    wide = bits + 2
    lines = [f"(declare-const {name} (_ BitVec {wide}))" for name in "xy"]
    lines += [f"(assert (bvugt {name} (_ bv1 {wide})))" for name in "xy"]
    lines += [f"(assert (bvult {name} (_ bv{limit * 2} {wide})))" for name in "xy"]
    lines.append(f"(assert (= (bvmul x y) (_ bv{product} {wide})))")
    return answer, lines


def colouring(rng, size):
    """A graph that was coloured before its edges were drawn."""
    colour = [rng.randrange(3) for _ in range(size)]
    lines = [f"(declare-const c{k} Int)\n(assert (and (<= 0 c{k}) (< c{k} 3)))" for k in range(size)]
    for _ in range(size * 9 // 2):
        a, b = rng.sample(range(size), 2)
        if colour[a] != colour[b]:
            lines.append(f"(assert (distinct c{a} c{b}))")
    return "sat", lines


def schedule(rng, size):
    """Differences of times; all fit one timetable, or a circle of them needs less than no time."""
    time = [rng.randrange(1000) for _ in range(size)]
    lines = [f"(declare-const t{k} Real)" for k in range(size)]
    for _ in range(size * 5):
        a, b = rng.sample(range(size), 2)
        lines.append(f"(assert (<= (- t{a} t{b}) {time[a] - time[b] + rng.randrange(40)}.5))")
    answer = rng.choice(("sat", "unsat"))
    if answer == "unsat":
        circle = rng.sample(range(size), size // 3)
        for a, b in zip(circle, circle[1:] + circle[:1]):
            lines.append(f"(assert (< (- t{a} t{b}) {time[a] - time[b]}.0))")
    return answer, lines


def swaps(rng, size):
    """Two orders of exchanging the places of an array that have nothing to do with each other."""
    pairs = [(2 * k, 2 * k + 1) for k in range(size)]
    lines = ["(declare-const a0 (Array Int Int))", "(declare-const b0 (Array Int Int))", "(assert (= a0 b0))"]
    for name in "ab":
        rng.shuffle(pairs)
        for step, (i, k) in enumerate(pairs):
            before = f"{name}{step}"
            lines.append(
                f"(define-fun {name}{step + 1} () (Array Int Int)"
                f" (store (store {before} {i} (select {before} {k})) {k} (select {before} {i})))"
            )
    lines.append(f"(assert (not (= a{size} b{size})))")
    return "unsat", lines


def coins(rng, size):
    """So many of each coin, a weight and a value: taken from a purse, so there is an answer."""
    values = [rng.randrange(5, 90) for _ in range(size)]
    weights = [rng.randrange(5, 90) for _ in range(size)]
    purse = [rng.randrange(0, 9) for _ in range(size)]
    lines = [f"(declare-const n{k} Int)\n(assert (and (<= 0 n{k}) (< n{k} 9)))" for k in range(size)]
    for each in (values, weights):
        terms = " ".join(f"(* {value} n{k})" for k, value in enumerate(each))
        lines.append(f"(assert (= (+ {terms}) {sum(v * n for v, n in zip(each, purse))}))")
    return "sat", lines


KINDS = ((pigeons, 7), (factors, 20), (colouring, 100), (schedule, 120), (swaps, 8), (coins, 8))


def negatives_spelled_out(line):
    """SMT-LIB has no negative numerals: -5.5 is (- 5.5)."""
    words = line.split(" ")
    return " ".join(
        f"(- {word[1:].rstrip(')')}){')' * word.count(')')}" if word[:1] == "-" and word[1:2].isdigit() else word
        for word in words
    )


def make(percent):
    """-> (the text, the answers in order)"""
    rng = random.Random(SEED)
    text, answers = [], []
    for _ in range(max(1, ROUNDS * percent // 100)):
        for kind, size in KINDS:
            answer, lines = kind(rng, size)
            answers.append(answer)
            text += [f"; {kind.__name__}", *map(negatives_spelled_out, lines), "(check-sat)"]
            text += ["(get-info :rlimit)", "(reset)"]
    return "\n".join(text) + "\n", answers
