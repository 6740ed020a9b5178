"""Slow, obvious answers to compare the package with: plain Python, straight from the definitions.

A function of s bits is a sequence of 2^s values; bit i of a pattern is its binary digit of weight 2^i.
"""

import ast
import re
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import prod, sqrt


def bit(pattern, index):
    """One bit of a pattern."""
    return (pattern >> index) & 1


def ones(pattern):
    """How many bits of a pattern are 1."""
    return pattern.bit_count()


def size_of(values):
    """The number of bits of a table."""
    return len(values).bit_length() - 1


def table_from_number(number, size):
    """The table whose entry at a pattern is a binary digit of the number."""
    return [bool(bit(number, pattern)) for pattern in range(1 << size)]


# formulas


def value_of_formula(text, is_one):
    """The value of a formula where `is_one` says which positions read 1: Python parses it, with its own precedence."""
    text = re.sub(r"\b(atleast|symmetric|table)\(\s*([0-9a-fx]+)\s*;", r"\1('\2',", text)
    text = re.sub(r"\b(and|or)\(", r"\1_(", text)
    return bool(_value(ast.parse(f"({text})", mode="eval").body, is_one))


def _value(node, is_one):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return int(is_one(int(node.id[1:])))
    if isinstance(node, ast.UnaryOp):
        assert isinstance(node.op, ast.Invert)
        return 1 - _value(node.operand, is_one)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, is_one), _value(node.right, is_one)
        return {ast.BitAnd: left and right, ast.BitOr: left or right, ast.BitXor: (left + right) % 2}[type(node.op)]
    return _value_of_call(node.func.id, [_value(argument, is_one) for argument in node.args])


def _value_of_call(name, arguments):
    if name in ("atleast", "symmetric", "table"):
        header, *arguments = arguments
        if name == "atleast":
            return int(sum(arguments) >= int(header))
        place = sum(arguments) if name == "symmetric" else sum(a << i for i, a in enumerate(arguments))
        return bit(int(header, 16), place) if header.startswith("0x") else int(header[place])
    return {
        "and_": int(all(arguments)),
        "or_": int(any(arguments)),
        "parity": sum(arguments) % 2,
        "maj": int(2 * sum(arguments) > len(arguments)),
        "majority": int(2 * sum(arguments) > len(arguments)),
    }[name]


# Fourier


def character(mask, pattern):
    """χ_S(b) = (−1)^{Σ_{i∈S} b_i}."""
    return (-1) ** ones(mask & pattern)


def coefficient(values, mask):
    """f̂(S) = E[f χ_S] by direct summation."""
    return Fraction(sum(value * character(mask, b) for b, value in enumerate(values)), len(values))


def sign_coefficient(values, mask):
    """The coefficient of (−1)^f."""
    return Fraction(sum((-1) ** value * character(mask, b) for b, value in enumerate(values)), len(values))


def chance(pattern, size, p):
    """The probability of a pattern under independent bits that are 1 with probability p."""
    return p ** ones(pattern) * (1 - p) ** (size - ones(pattern))


def biased_coefficient(values, mask, p):
    """f̂_p(S) = E[f Π_{i∈S} (b_i − p)/√(p(1−p))] by direct summation."""
    size = size_of(values)
    return sum(
        chance(b, size, p) * prod((bit(b, i) - p) / sqrt(p * (1 - p)) for i in range(size) if bit(mask, i))
        for b, value in enumerate(values)
        if value
    )


def weights(values):
    """The Fourier weight of (−1)^f at each degree."""
    found = [Fraction(0)] * (size_of(values) + 1)
    for mask in range(len(values)):
        found[ones(mask)] += sign_coefficient(values, mask) ** 2
    return found


def counting_weights(levels):
    """The Fourier weights of a symmetric ±1 function: C(s, k) times one coefficient squared, in exact fractions.

    That of a set of k positions sums over how many ones lie inside it and how many outside.
    """
    s = len(levels) - 1
    rows = [[1]]
    for _ in range(s):
        rows.append([a + b for a, b in zip([*rows[-1], 0], [0, *rows[-1]], strict=True)])  # Pascal's triangle
    return [
        rows[s][k]
        * Fraction(
            sum(
                (-1) ** (inside + levels[inside + outside]) * rows[k][inside] * rows[s - k][outside]
                for inside in range(k + 1)
                for outside in range(s - k + 1)
            ),
            2**s,
        )
        ** 2
        for k in range(s + 1)
    ]


def stability(values, correlation):
    """E[F(b) F(b')] for F = (−1)^f: b uniform, each bit of b' equal to b's with probability (1 + ρ)/2."""
    size, same = size_of(values), (1 + correlation) / 2
    return sum(
        (-1) ** (values[b] + values[c]) * chance(b ^ c, size, 1 - same) / len(values)
        for b in range(len(values))
        for c in range(len(values))
    )


# influence


def pivotal(values, index, pattern):
    """Whether flipping one bit of this pattern changes the value."""
    return values[pattern] != values[pattern ^ (1 << index)]


def relevant(values):
    """The indices of the bits that ever matter."""
    return [i for i in range(size_of(values)) if any(pivotal(values, i, b) for b in range(len(values)))]


def influence(values, index, p=Fraction(1, 2)):
    """P(f(b) ≠ f(b with bit i flipped))."""
    size = size_of(values)
    return sum(chance(b, size, p) for b in range(len(values)) if pivotal(values, index, b))


def probability(values, p):
    """P(f = 1)."""
    return sum(chance(b, size_of(values), p) for b, value in enumerate(values) if value)


def sensitivity(values, pattern):
    """How many bits of this pattern change the value when flipped."""
    return sum(pivotal(values, i, pattern) for i in range(size_of(values)))


# leap


def support(values):
    """The non-empty sets with a non-zero coefficient, as masks."""
    return frozenset(
        mask for mask in range(1, len(values)) if sum(v * character(mask, b) for b, v in enumerate(values))
    )


def leap_by_orderings(masks):
    """Leap by trying every ordering of the sets; 0 where there are none."""
    best = 0 if not masks else 64
    for order in permutations(masks):
        covered = worst = 0
        for mask in order:
            worst = max(worst, ones(mask & ~covered))
            covered |= mask
        best = min(best, worst)
    return best


@cache
def leap_by_closure(masks):
    """Leap as the least ℓ for which adding sets with at most ℓ new elements, as long as possible, adds them all."""
    step = 0
    while True:
        left, covered, grew = set(masks), 0, True
        while grew:
            near = {mask for mask in left if ones(mask & ~covered) <= step}
            left, grew = left - near, bool(near)
            for mask in near:  # each has at most ℓ new elements whatever the others add
                covered |= mask
        if not left:
            return step
        step += 1


# shape


def is_symmetric(values):
    """Whether permuting the bits never changes the value."""
    size = size_of(values)
    return all(
        values[b] == values[sum(bit(b, i) << j for i, j in enumerate(order))]
        for order in permutations(range(size))
        for b in range(len(values))
    )


def is_monotone(values):
    """Whether a pattern that contains another never has a smaller value."""
    return all(values[b] <= values[c] for b in range(len(values)) for c in range(len(values)) if b & c == b)


@cache
def threshold_functions(size):
    """The tables, as numbers, of all functions 1[Σ w_i b_i ≥ θ]; weights up to 3 reach all of them for size ≤ 4."""
    found = set()
    for weighing in product(range(-3, 4), repeat=size):
        sums = [sum(w * bit(b, i) for i, w in enumerate(weighing)) for b in range(1 << size)]
        for least in {*sums, max(sums) + 1}:
            found.add(sum((total >= least) << b for b, total in enumerate(sums)))
    return frozenset(found)
