"""Check a certificate of keyhole in integer arithmetic. Needs Python 3.9 or newer and nothing else.

    python keyhole_check.py FILE.cert [WEIGHTS.safetensors]

The page docs/certificate.md has the format and its rules. Exit code 0: the certificate proves what is printed. Exit
code 1: it is refused, with the line. A number is an integer times 2^-bits. A ball (m, r) stands for every number
within r of m; a vector has one radius for all its entries. Every operation rounds so that the truth stays inside.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from itertools import product
from math import comb, isqrt
from operator import mul
from typing import Any, NoReturn

Ball = tuple[int, int]
Vector = tuple[list[int], int]
Relaxed = tuple[Any, Vector, Ball, Ball]  # raw (or None), inner, number, rest
HINT = 60  # hints are integers times 2^-60
LATTICE = 6  # GELU is looked at on multiples of 2^-6, between which it is within 0.8 h²/8 of its chord
EDGE = 12  # beyond it both GELUs are within 2^-80 of max(x, 0)


class Refused(Exception):
    """The certificate proves nothing; the message says where and why."""


class Lines:
    """The lines of a file, one after another; comments begin with #."""

    def __init__(self, text: str) -> None:
        rows = enumerate(text.split("\n"), 1)
        self.rows = [(number, row.split()) for number, row in rows if row.strip() and not row.startswith("#")]
        self.place = 0

    def refuse(self, why: str) -> NoReturn:
        """Refuse the line that was read last."""
        number = self.rows[min(max(self.place - 1, 0), len(self.rows) - 1)][0] if self.rows else 1
        raise Refused(f"line {number}: {why}")

    def word(self) -> str:
        """Return the first word of the next line, or nothing at the end."""
        return self.rows[self.place][1][0] if self.place < len(self.rows) else ""

    def take(self, word: str, count: int | None = None) -> list[str]:
        """Return the other words of the next line, which must begin with `word`."""
        at, found = self.place, self.word()
        self.place += 1
        if found != word:
            self.refuse(f"expected {word!r}, found {found[:30]!r}")
        words = self.rows[at][1][1:]
        if count is not None and len(words) != count:
            self.refuse(f"{word} takes {count} words, found {len(words)}")
        return words

    def whole(self, text: str, low: int | None = None, high: int | None = None) -> int:
        """Return a decimal integer between two ends."""
        if not re.fullmatch(r"-?[0-9]{1,4000}", text, re.ASCII):
            self.refuse(f"{text[:30]!r} is not an integer")
        number = int(text)
        if (low is not None and number < low) or (high is not None and number > high):
            self.refuse(f"{text[:30]} is out of range")
        return number

    def wholes(self, words: Sequence[str], low: int | None = None, high: int | None = None) -> list[int]:
        """Return decimal integers between two ends."""
        return [self.whole(word, low, high) for word in words]


class Arithmetic:
    """Balls of integers times 2^-bits."""

    def __init__(self, bits: int) -> None:
        self.bits, self.one = bits, 1 << bits
        wide = bits + 64  # ln 2 = 2 atanh(1/3), to 40 bits more than `bits`
        self.ln2 = sum(((2 << wide) // (3 ** (2 * n + 1) * (2 * n + 1)) for n in range(wide)), 0) >> 24
        self.known: dict[tuple[str, int], Ball] = {}

    def read(self, number: int, power: int) -> Ball:
        """Return number · 2^power."""
        shift = power + self.bits
        if shift >= 0:
            return number << shift, 0
        return number >> -shift, int(bool(number & ((1 << -shift) - 1)))

    def mul(self, a: Ball, b: Ball) -> Ball:
        """Return a product."""
        return a[0] * b[0] >> self.bits, (abs(a[0]) * b[1] + abs(b[0]) * a[1] + a[1] * b[1] >> self.bits) + 2

    def div(self, a: Ball, b: Ball) -> Ball:
        """Return a quotient; |a′/b′ − a/b| = |δ − ε a/b|/b′ for a′ = a + δ and b′ = b + ε."""
        if b[0] - b[1] <= 0:
            raise Refused("a divisor is not certainly positive")
        middle = (a[0] << self.bits) // b[0]
        return middle, ((a[1] << self.bits) + (abs(middle) + 1) * b[1]) // (b[0] - b[1]) + 2

    def sqrt(self, a: Ball) -> Ball:
        """Return a square root."""
        low, high = isqrt(max(a[0] - a[1], 0) << self.bits), isqrt(max(a[0] + a[1], 0) << self.bits) + 1
        return (low + high) // 2, (high - low) // 2 + 1

    def dot(self, a: Vector, b: Vector) -> Ball:
        """Return a scalar product."""
        (x, r), (y, q) = a, b
        if len(x) != len(y):
            raise Refused(f"vectors of {len(x)} and {len(y)} entries do not fit")
        middle = sum(map(mul, x, y)) >> self.bits
        if not (r or q):
            return middle, 1
        return middle, (r * sum(map(abs, y)) + q * sum(map(abs, x)) + r * q * len(x) >> self.bits) + 2

    def times(self, a: Vector, rows: Sequence[Vector]) -> Vector:
        """Return the scalar products with several vectors."""
        return self.vector([self.dot(a, row) for row in rows])

    def scaled(self, a: Vector, b: Vector) -> Vector:
        """Return the products entry by entry."""
        if len(a[0]) != len(b[0]):
            raise Refused(f"vectors of {len(a[0])} and {len(b[0])} entries do not fit")
        return self.vector([self.mul((x, a[1]), (y, b[1])) for x, y in zip(*(a[0], b[0]))])

    @staticmethod
    def vector(balls: Sequence[Ball]) -> Vector:
        """Return balls as a vector."""
        return [ball[0] for ball in balls], max((ball[1] for ball in balls), default=0)

    @staticmethod
    def plus(a: Vector, b: Vector) -> Vector:
        """Return a sum."""
        if len(a[0]) != len(b[0]):
            raise Refused(f"vectors of {len(a[0])} and {len(b[0])} entries do not fit")
        return [x + y for x, y in zip(a[0], b[0])], a[1] + b[1]

    def exp(self, a: Ball) -> Ball:
        """Return e to a number at most 0; e^δ − 1 ≤ 2δ for δ ≤ 1/16."""
        middle, radius = a
        if middle > 0 or radius << 4 > self.one:
            raise Refused("an exponent is not known well enough; more bits are needed")
        if middle < -self.bits * self.one:
            return 0, 2
        wide = self.bits + 40  # a few thousand roundings of 2^-wide stay below 2^-bits
        halvings, rest = divmod(middle << 40, self.ln2)
        rest >>= 8
        term = total = 1 << wide
        count = 1
        while term:
            term = (term * rest >> wide) // count
            total += term
            count += 1
        for _ in range(8):
            total = total * total >> wide
        return total >> 40 - halvings, 2 * radius + 2

    def curve(self, name: str, x: int) -> Ball:
        """Return an activation at an exact number."""
        if name == "identity":
            return x, 0
        if name == "relu" or abs(x) >= EDGE * self.one:
            return max(x, 0), 0 if name == "relu" else max(1, self.one >> 80)
        if (name, x) not in self.known:
            self.known[name, x] = self.gelu(name, x)
        return self.known[name, x]

    def gelu(self, name: str, x: int) -> Ball:
        """Return x Φ(x), Φ = 1/2 + φ Σ |x|^(2n+1)/(1·3·…·(2n+1)), or x/(1 + exp(−2u)), with 256 bits more."""
        if "deep" not in self.__dict__:
            self.deep = Arithmetic(self.bits + 256)
            one = self.deep.one << 20
            tangents = [(16, 5), (-4, 239)]  # π = 16 atan(1/5) − 4 atan(1/239)
            parts = [
                sign * factor * (one // (base ** (2 * n + 1) * (2 * n + 1)))
                for factor, base in tangents
                for n, sign in zip(range(self.deep.bits), [1, -1] * self.deep.bits)
            ]
            self.pi: Ball = (sum(parts) >> 20, 2)
        deep, z = self.deep, (abs(x) << 256, 0)
        square = deep.mul(z, z)
        if name == "gelu":
            density = deep.div(deep.exp((-square[0] >> 1, square[1])), deep.sqrt((2 * self.pi[0], 2 * self.pi[1])))
            term = total = z[0]
            count = 1
            while term:
                count += 2
                term = (term * square[0] >> deep.bits) // count
                total += term
            share = deep.mul(density, (total, 1 << 60))  # roundings: below 2^20 times the largest term's few
            tail = (deep.one >> 1) - share[0], share[1]
        else:
            cube = deep.mul(square, z)
            inner = 1_000_000 * z[0] + 44_715 * cube[0], 44_715 * cube[1]
            inner = inner[0] // 1_000_000, inner[1] + 1
            double = deep.mul(deep.sqrt(deep.div((8 * deep.one, 0), self.pi)), inner)
            power = deep.exp((-double[0], double[1]))
            tail = deep.div(power, (deep.one + power[0], power[1]))
        value = deep.mul(z, tail)  # −σ(−|x|)
        return max(x, 0) - (value[0] >> 256), (value[1] >> 256) + 2


class Norm:
    """A LayerNorm, or an RMSNorm, which does not centre."""

    def __init__(self, arithmetic: Arithmetic, gain: Vector, bias: Vector, eps: Ball, kind: str) -> None:
        self.a, self.gain, self.bias, self.eps, self.centres = arithmetic, gain, bias, eps, kind == "centre"

    def centred(self, x: Vector) -> Vector:
        """Return the entries less their mean, where the norm takes it off."""
        if not self.centres:
            return x
        mean = sum(x[0]) // len(x[0])
        return [entry - mean for entry in x[0]], 2 * x[1] + 1

    def spread(self, centred: Vector) -> Ball:
        """Return √(mean square + ε)."""
        square = self.a.dot(centred, centred)
        count = len(centred[0])
        return self.a.sqrt((square[0] // count + self.eps[0], square[1] // count + 2 + self.eps[1]))

    def __call__(self, x: Vector) -> Vector:
        """Return the normed vector."""
        centred = self.centred(x)
        spread = self.spread(centred)
        quotient = self.a.vector([self.a.div((entry, centred[1]), spread) for entry in centred[0]])
        return self.a.plus(self.a.scaled(quotient, self.gain), self.bias)


class Box:
    """The ends of centred coordinates, and of their spread."""

    def __init__(self, norm: Norm, low: list[int], high: list[int], lowest: int = 0, highest: int = -1) -> None:
        near = sum(max(0, x, -y) ** 2 for x, y in zip(low, high))
        far = sum(max(abs(x), abs(y)) ** 2 for x, y in zip(low, high))
        bits, count = norm.a.bits, len(low)
        self.low, self.high = low, high
        far = far if highest < 0 else min(far, highest)
        self.least = isqrt(max(near, lowest) // count + (max(norm.eps[0] - norm.eps[1], 0) << bits))
        self.most = isqrt(far // count + 1 + (norm.eps[0] + norm.eps[1] << bits)) + 1
        if self.least <= 0:
            raise Refused("the spread of a norm is not certainly positive")
        self.bits = bits

    def under(self, low: int) -> int:
        """Return a lower bound divided by the spread."""
        return (low << self.bits) // (self.most if low > 0 else self.least)


class Head:
    """The masses exp(score) and the values of every row and symbol, and of [CLS] as the last."""

    def __init__(self, arithmetic: Arithmetic, scores: Vector, values: list[Vector]) -> None:
        top = max(scores[0])
        masses = arithmetic.vector([arithmetic.exp((score - top, scores[1])) for score in scores[0]])
        self.mass, self.mass_error = masses
        self.error = max(radius for _, radius in values)
        self.values = [value for value, _ in values]
        self.width = len(self.values[0])
        self.reach = [max(abs(value[k]) for value in self.values) + self.error for k in range(self.width)]


class Region:
    """A set of words: free and fixed copies of rows, a reader of further rows, and half-spaces of the outputs."""

    def __init__(self, symbols: int, free: list[int]) -> None:
        self.symbols, self.free = symbols, free
        self.fixed: list[int] = []  # entries row · A + symbol
        self.counted: tuple[list[tuple[list[int], list[int]]], int, int] | None = None
        self.states: tuple[list[int], list[list[int]], int, list[int]] | None = None
        self.cuts: list[tuple[list[int], int]] = []
        self.masses: dict[int, tuple[int, int]] = {}

    def copy(self) -> Region:
        """Return a region that can be changed."""
        other = Region(self.symbols, list(self.free))
        other.fixed, other.cuts = list(self.fixed), list(self.cuts)
        other.counted, other.states = self.counted, self.states
        return other

    def fix(self, row: int, symbol: int) -> Region:
        """Return the words that show a symbol at one more copy of a row."""
        other = self.copy()
        other.free[row] -= 1
        other.fixed.append(row * self.symbols + symbol)
        return other

    def least(self, cost: Sequence[int]) -> int:
        """Return the least sum of costs over all words, without regard to half-spaces."""
        count = self.symbols
        end = count * len(self.free)
        least = map(min, *(cost[symbol:end:count] for symbol in range(count)))
        total: int = sum(map(mul, least, self.free))
        total += sum(cost[entry] for entry in self.fixed)
        if self.counted is not None:
            places, low, high = self.counted
            gains = []
            for inside, outside in places:
                best = min(cost[entry] for entry in outside)
                total += best
                gains.append(min(cost[entry] for entry in inside) - best)
            gains.sort()
            total += sum(gains[:low]) + sum(min(gain, 0) for gain in gains[low:high])
        if self.states is not None:
            rows, moves, start, final = self.states
            value: list[int | None] = [0 if state in final else None for state in range(len(moves))]
            for row in reversed(rows):
                here = cost[row * count : row * count + count]
                value = [
                    min((here[s] + after for s, after in enumerate(map(value.__getitem__, move)) if after is not None),
                        default=None)
                    for move in moves
                ]  # fmt: skip
            best_way = value[start]
            if best_way is None:
                raise Refused("no word ends in these states")
            total += best_way
        return total


class Check:
    """One certificate: its header, its model, its claim and its proof."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.tensors: dict[str, tuple[tuple[int, ...], int, list[int]]] = {}
        self.products: dict[tuple[int, tuple[int, ...]], tuple[list[int], int]] = {}
        self.leaves = 0

    # the header

    def header(self) -> None:
        """Read what the certificate is about."""
        take, lines = self.lines.take, self.lines
        if take("keyhole-certificate") != ["1"]:
            lines.refuse("only version 1 is known")
        self.weights = take("weights", 1)[0]
        if not re.fullmatch(r"-|[0-9a-f]{64}", self.weights):
            lines.refuse("weights takes a SHA-256, or -")
        if take("arithmetic") != ["real"] or take("tolerance") != ["0"]:
            lines.refuse("only real arithmetic without a tolerance is known")
        self.a = Arithmetic(lines.whole(take("bits", 1)[0], 64, 8192))
        sizes = take("words", 2)
        self.length, self.symbols = lines.whole(sizes[0], 1, 10**9), lines.whole(sizes[1], 2, 10**6)
        rows = take("rows")
        rest = rows[-1:] == ["*"]
        self.places = lines.wholes(rows[:-1] if rest else rows, 0, self.length - 1)
        if any(b <= a for a, b in zip(self.places, self.places[1:])):
            lines.refuse("rows are positions in increasing order")
        others = self.length - len(self.places)
        if rest != (others > 0):
            lines.refuse("a row * serves the positions that are not listed, and only those")
        self.counts = [1] * len(self.places) + [others] * rest
        self.row = {place: row for row, place in enumerate(self.places)}
        while lines.word() == "tensor":
            name, power, shape, *numbers = take("tensor") if len(lines.rows[lines.place][1]) > 3 else [""] * 3
            if not re.fullmatch(r"[\w.:\[\]-]{1,200}", name) or name in self.tensors or name == "-":
                lines.refuse(f"a tensor {name[:30]!r} is not named, or is named twice")
            sides = tuple(lines.wholes(shape.split("x"), 1))
            size = 1
            for side in sides:
                size *= side
            if size != len(numbers):
                lines.refuse(f"{name} has {len(numbers)} numbers where {size} are needed")
            self.tensors[name] = sides, lines.whole(power, -5000, 5000), lines.wholes(numbers)

    def number(self, text: str) -> Ball:
        """Return a number written as m:e, which is m · 2^e."""
        number, _, power = text.partition(":")
        return self.a.read(self.lines.whole(number), self.lines.whole(power, -5000, 5000))

    def matrix(self, name: str, width: int | None = None) -> list[Vector]:
        """Return a tensor as vectors along its last side."""
        if name not in self.tensors:
            self.lines.refuse(f"the file has no tensor {name[:30]!r}")
        sides, power, numbers = self.tensors[name]
        width = sides[-1] if width is None else width
        if len(numbers) % width:
            self.lines.refuse(f"{name} does not have rows of {width}")
        balls = [self.a.read(number, power) for number in numbers]
        radius = max(ball[1] for ball in balls)
        return [([ball[0] for ball in balls[at : at + width]], radius) for at in range(0, len(balls), width)]

    def flat(self, name: str, width: int) -> Vector:
        """Return a tensor of `width` numbers as a vector; zeros for -."""
        if name == "-":
            return [0] * width, 0
        rows = self.matrix(name, width)
        if len(rows) != 1:
            self.lines.refuse(f"{name} has other than {width} numbers")
        return rows[0]

    def columns(self, name: str, inputs: int) -> list[Vector]:
        """Return the columns of a matrix (inputs, outputs); the identity for -."""
        if name == "-":
            return [([self.a.one * (i == j) for i in range(inputs)], 0) for j in range(inputs)]
        rows = self.matrix(name)
        if len(rows) != inputs:
            self.lines.refuse(f"{name} reads {len(rows)} numbers where {inputs} arrive")
        return [([row[0][j] for row in rows], rows[0][1]) for j in range(len(rows[0][0]))]

    def norm(self, words: Sequence[str], width: int) -> Norm:
        """Return a norm: gain, bias, ε, and centre or rms."""
        if len(words) != 4 or words[3] not in ("centre", "rms"):
            self.lines.refuse("a norm has a gain, a bias, a number eps, and centre or rms")
        gain, bias, eps = self.flat(words[0], width), self.flat(words[1], width), self.number(words[2])
        if words[0] == "-" or eps[0] - eps[1] <= 0:
            self.lines.refuse("a norm has a gain, and an eps above 0")
        return Norm(self.a, gain, bias, eps, words[3])

    # the model

    def heads(self) -> None:
        """Read the heads into tables: a score and a value for every row and symbol, and for [CLS]."""
        a, lines, entries = self.a, self.lines, len(self.counts) * self.symbols
        tokens: list[Vector] = []
        if lines.word() == "embed":
            words = lines.take("embed")
            if len(words) == 2:  # a vector per row and symbol, and [CLS]
                tokens = self.matrix(words[0])
            elif len(words) == 3:  # a vector per row, one per symbol, and [CLS]
                codes, symbols = self.matrix(words[0]), self.matrix(words[1])
                spare = [0] * (len(symbols[0][0]) - len(codes[0][0]))
                if len(codes) != len(self.counts) or len(symbols) != self.symbols:
                    lines.refuse("there is a code for every row and a vector for every symbol")
                tokens = [a.plus((code + spare, r), symbol) for code, r in codes for symbol in symbols]
            else:
                lines.refuse("embed takes two or three tensors")
            tokens = [*tokens, self.flat(words[-1], len(tokens[0][0]))]
            if len(tokens) != entries + 1:
                lines.refuse(f"there are {len(tokens) - 1} embedded tokens where {entries} are needed")
            if lines.word() == "enter":
                norm = self.norm(lines.take("enter"), len(tokens[0][0]))
                tokens = [norm(token) for token in tokens]
        self.tables: list[Head] = []
        while lines.word() == "head":
            kind, *words = lines.take("head") or [""]
            over: Ball = a.one, 0  # scores are divided by a temperature
            if words[-2:-1] == ["over"]:
                over, words = self.number(words[-1]), words[:-2]
            if kind == "table" and len(words) == 4:
                scores = a.vector([(x, v[1]) for v in self.matrix(words[0]) for x in v[0]])
                own = self.flat(words[2], 1)
                values = self.matrix(words[1])
                values = [*values, self.flat(words[3], len(values[0][0]))]
                scores = [*scores[0], *own[0]], max(scores[1], own[1])
            elif kind == "factored" and len(words) == 6 and tokens:
                query = self.columns(words[0], len(tokens[0][0]))
                width = len(query)
                projected = a.plus(a.times(tokens[-1], query), self.flat(words[1], width))
                root = a.sqrt((width << a.bits, 0))
                projected = a.vector([a.div((x, projected[1]), root) for x in projected[0]])
                vector, shift = (
                    a.times(projected, self.matrix(words[2], width)),
                    a.dot(projected, self.flat(words[3], width)),
                )
                scores, values = self.images(tokens, vector, shift, words[4], words[5])
            elif kind == "dense" and len(words) == 3 and tokens:
                vector = a.times(tokens[-1], self.matrix(words[0], len(tokens[0][0])))
                scores, values = self.images(tokens, vector, (0, 0), words[1], words[2])
            else:
                lines.refuse(f"a head {kind[:30]!r} with {len(words)} words is not known")
            if not len(scores[0]) == len(values) == entries + 1:
                lines.refuse(f"a head has {len(scores[0])} scores and {len(values)} values; {entries + 1} are needed")
            if over != (a.one, 0):
                scores = a.vector([a.div((x, scores[1]), over) for x in scores[0]])
            self.tables.append(Head(a, scores, values))
        if not self.tables:
            self.lines.take("head")

    def images(
        self, tokens: list[Vector], vector: Vector, shift: Ball, value: str, bias: str
    ) -> tuple[Vector, list[Vector]]:
        """Return the scores ⟨token, vector⟩ + shift and the values of all tokens."""
        maps = self.columns(value, len(tokens[0][0]))
        added = self.flat(bias, len(maps))
        scores = self.a.times(vector, tokens)
        values = [self.a.plus(self.a.times(token, maps), added) for token in tokens]
        return ([score + shift[0] for score in scores[0]], scores[1] + shift[1]), values

    def stages(self) -> None:
        """Read what follows the heads, up to the read-out."""
        a, lines = self.a, self.lines
        widths = [head.width for head in self.tables]
        join = lines.take("join", 1)[0]
        if join not in ("sum", "concatenate") or (join == "sum" and len(set(widths)) > 1):
            lines.refuse("heads are joined by sum, all of one width, or by concatenate")
        total, width = sum(widths), widths[0] if join == "sum" else sum(widths)
        # x = o M + c
        rows: list[Vector] = [([a.one * (k % width == j) for j in range(width)], 0) for k in range(total)]
        shift: Vector = [0] * width, 0
        self.inner: Norm | None = None
        self.skip, self.units, self.name = True, 0, "identity"
        self.after: list[Any] = []
        fed = False
        while lines.word() in ("affine", "add", "norm", "feed"):
            kind = lines.word()
            words = lines.take(kind)
            if kind == "affine" and len(words) == 2 and not fed and self.inner is None:
                maps = self.columns(words[0], len(shift[0]))
                rows = [a.times(row, maps) for row in rows]
                shift = a.plus(a.times(shift, maps), self.flat(words[1], len(maps)))
            elif kind == "add" and len(words) == 1:
                vector = self.flat(words[0], self.width_out if fed else len(shift[0]))
                if fed:
                    self.after.append(vector)
                elif self.inner is None:
                    shift = a.plus(shift, vector)
                else:
                    lines.refuse("nothing is added between a norm and the units")
            elif kind == "norm" and fed:
                self.after.append(self.norm(words, self.width_out))
            elif kind == "norm" and self.inner is None:
                self.inner, self.raw = self.norm(words, len(shift[0])), False
            elif kind == "feed" and len(words) >= 6 and not fed and words[5] in ("skip", "plain"):
                if words[6:]:
                    if self.inner is not None:
                        lines.refuse("only one norm stands before the units")
                    self.inner, self.raw = self.norm(words[6:], len(shift[0])), True
                self.feed(words, rows, shift)
                fed = True
            else:
                lines.refuse(f"a stage {kind} with {len(words)} words is not known here")
        self.rows, self.shift = rows, shift
        if not fed:
            self.feed(["identity", "", "-", "-", "-", "skip"], rows, shift)
        read = lines.take("read", 2)
        self.weight, bias = self.flat(read[0], self.width_out), self.flat(read[1], 1)
        threshold = self.number(lines.take("threshold", 1)[0])
        self.bias = bias[0][0] - threshold[0], bias[1] + threshold[1]
        self.norms = [stage for stage in self.after if isinstance(stage, Norm)]
        inner = self.inner
        if inner is not None:  # the norm centres
            self.rows, self.shift = [inner.centred(row) for row in rows], inner.centred(shift)
            self.raw_rows, self.raw_shift = rows, shift

    def feed(self, words: Sequence[str], rows: list[Vector], shift: Vector) -> None:
        """Read the units: σ(z W + b) W′ + b′, where z is x or its norm."""
        a, width = self.a, len(shift[0])
        self.name, self.skip = words[0], words[5] == "skip"
        if self.name not in ("identity", "relu", "gelu", "gelu_tanh"):
            self.lines.refuse(f"the activation {self.name[:30]!r} is not known")
        maps = self.columns(words[1], width) if words[1] else []
        bias = self.flat(words[2], len(maps))
        inner = self.inner
        if inner is not None:
            bias = a.plus(a.times(inner.bias, maps), bias)
            maps = [a.scaled(inner.gain, column) for column in maps]
            rows, shift = [inner.centred(row) for row in rows], inner.centred(shift)
        self.units = len(maps)
        self.unit_rows = [a.times(column, rows) for column in maps]  # of each unit, over the outputs of the heads
        self.unit_shift, self.unit_bias = a.times(shift, maps), bias
        columns = self.columns(words[3], len(maps)) if maps else [([], 0) for _ in range(width)]
        self.width_out = len(columns)
        self.outer = [([column[0][j] for column in columns], columns[0][1]) for j in range(len(maps))]
        self.outer_bias = self.flat(words[4], self.width_out)
        if self.skip and self.width_out != width:
            self.lines.refuse("what skips the units has another width")

    def follow(self, outputs: Vector) -> tuple[Ball, dict[str, Any]]:
        """Return f at outputs of the heads, and the rows that enter each norm."""
        a = self.a
        seen: dict[str, Any] = {}
        columns = [([row[0][j] for row in self.rows], self.rows[0][1]) for j in range(len(self.shift[0]))]
        x = a.plus(a.times(outputs, columns), self.shift)
        spread = (a.one, 0)
        if self.inner is not None:
            seen["inner"] = x, self.inner.spread(x)
            spread = seen["inner"][1]
        before = a.plus(a.times(outputs, self.unit_rows), self.unit_shift) if self.units else ([], 0)
        values = []
        for j, m in enumerate(before[0]):
            u = a.div((m, before[1]), spread)
            value = a.curve(self.name, u[0] + self.unit_bias[0][j])
            values.append((value[0], value[1] + 2 * (u[1] + self.unit_bias[1])))  # no activation is steeper than 2
        hidden = a.vector(values)
        y = a.plus(a.times(hidden, [([row[0][i] for row in self.outer], self.outer[0][1] if self.outer else 0)
                                    for i in range(self.width_out)]), self.outer_bias)  # fmt: skip
        if self.skip and self.inner is not None and not self.raw:
            y = a.plus(y, self.inner(x))
        elif self.skip:
            if self.inner is not None:
                columns = [([row[0][j] for row in self.raw_rows], self.raw_rows[0][1]) for j in range(len(x[0]))]
                x = a.plus(a.times(outputs, columns), self.raw_shift)
            y = a.plus(y, x)
        seen["after"] = []
        for stage in self.after:
            if isinstance(stage, Norm):
                centred = stage.centred(y)
                seen["after"].append((centred, stage.spread(centred)))
                y = stage(y)
            else:
                y = a.plus(y, stage)
        value = a.dot(y, self.weight)
        return (value[0] + self.bias[0], value[1] + self.bias[1]), seen

    # the claim: a number for every word, and for every number an answer 1, 0, or - where nothing is claimed

    def claim(self) -> None:
        """Read how words are told apart, and the answers."""
        lines = self.lines
        self.kind, *words = lines.take("claim") or [""]
        self.asked = lines.wholes(words, 0, self.length - 1)
        if any(place not in self.row for place in self.asked) or len(set(self.asked)) < len(self.asked):
            lines.refuse("a claim reads different positions, each with a row of its own")
        self.free = list(self.counts)
        if self.kind == "cells":
            size = self.symbols ** len(self.asked) if len(self.asked) < 40 else 0
        elif self.kind in ("counts", "states"):
            for place in self.asked:
                self.free[self.row[place]] -= 1
            size = len(self.asked) + 1
        if self.kind == "counts":  # for each position, which symbols are counted
            self.literals = []
            for place, word in zip(self.asked, lines.take("counted", len(self.asked))):
                first = self.row[place] * self.symbols
                inside = [first + s for s, bit in enumerate(word) if bit == "1"]
                outside = [first + s for s, bit in enumerate(word) if bit == "0"]
                if len(inside) + len(outside) != self.symbols or len(word) != self.symbols or not (inside and outside):
                    lines.refuse("of each position some symbols are counted and some are not")
                self.literals.append((inside, outside))
        elif self.kind == "states":
            size = lines.whole(lines.take("automaton", 1)[0], 1, 10**6)
            self.moves = [lines.wholes(lines.take("move", self.symbols), 0, size - 1) for _ in range(size)]
        elif self.kind != "cells":
            lines.refuse(f"the claim {self.kind[:30]!r} is not known")
        self.answers = lines.take("answers", 1)[0]
        if len(self.answers) != size or set(self.answers) - set("01-"):
            lines.refuse(f"answers are {size} of 0, 1 and -")

    def number_of(self, word: Sequence[int]) -> int:
        """Return the number of a word."""
        shown = [word[place] for place in self.asked]
        if self.kind == "cells":
            return sum(symbol * self.symbols**i for i, symbol in enumerate(shown))
        if self.kind == "counts":
            read = zip(self.asked, shown, self.literals)
            return sum(self.row[place] * self.symbols + s in inside for place, s, (inside, _) in read)
        state = 0
        for symbol in shown:
            state = self.moves[state][symbol]
        return state

    # the proof

    def prove(self) -> int:
        """Go through all classes with an answer, and return the least margin."""
        lines = self.lines
        margins = []
        whole = Region(self.symbols, self.free)
        if self.kind == "cells":
            for number, cell in enumerate(product(range(self.symbols), repeat=len(self.asked))):
                region = whole
                for place, symbol in zip(self.asked, reversed(cell)):  # the first position is the least digit
                    region = region.fix(self.row[place], symbol)
                if self.answers[number] != "-":
                    margins.append(self.tree(region, 1 if self.answers[number] == "1" else -1))
        else:
            open_ = {number for number, answer in enumerate(self.answers) if answer != "-"}
            while lines.word() == "class":
                numbers = lines.wholes(lines.take("class"), 0, len(self.answers) - 1)
                region = whole.copy()
                if self.kind == "counts":
                    if len(numbers) != 2 or numbers[0] > numbers[1]:
                        lines.refuse("a class of counts is an interval")
                    region.counted = self.literals, numbers[0], numbers[1]
                    numbers = list(range(numbers[0], numbers[1] + 1))
                else:
                    region.states = [self.row[place] for place in self.asked], self.moves, 0, numbers
                answers = {self.answers[number] for number in numbers}
                if len(answers) != 1 or "-" in answers:
                    lines.refuse("a class has one answer")
                margins.append(self.tree(region, 1 if "1" in answers else -1))
                open_ -= set(numbers)
            if open_:
                lines.take(f"class of {min(open_)}")
        if not margins:
            lines.refuse("nothing is claimed")
        return min(margins)

    def tree(self, region: Region, sign: int) -> int:
        """Return the margin of a region: split by the symbols of a row, or by a half-space, or bounded."""
        stack, margins = [region], []
        while stack:
            region = stack.pop()
            word = self.lines.word()
            if word == "split":
                row = self.lines.whole(self.lines.take("split", 1)[0], 0, len(self.counts) - 1)
                if region.free[row] < 1:
                    self.lines.refuse("no copy of this row is free")
                stack += [region.fix(row, symbol) for symbol in reversed(range(self.symbols))]
            elif word == "cut":
                *normal, level = self.hints("cut", sum(head.width for head in self.tables) + 1)
                for turn in (-1, 1):  # ⟨normal, outputs⟩ ≥ level comes first
                    stack.append(region.copy())
                    stack[-1].cuts.append(([turn * x for x in normal], turn * level))
            else:
                margins.append(self.leaf(region, sign))
                if margins[-1] <= 0:
                    self.lines.refuse(f"the bound {margins[-1] / self.a.one:.3g} is not above 0")
        return min(margins)

    def hints(self, word: str, count: int) -> list[int]:
        """Return numbers that were found by a search: the proof holds for any."""
        return [number << self.a.bits - HINT for number in self.lines.wholes(self.lines.take(word, count))]

    def low(self, region: Region, direction: Vector) -> int:
        """Return a lower bound of ⟨direction, outputs of the heads⟩ over a region.

        A line `d` has a number t for each head, and a multiple μ ≥ 0 for each half-space ⟨w, o⟩ ≥ τ, since
        ⟨d, o⟩ ≥ ⟨d − Σ μ w, o⟩ + Σ μ τ. With G the least N − tZ over all words, N/Z ≥ t + min(0, G)/Zmin. With such a t
        N − tZ ≥ 0, so that Σ N/Z ≥ Σ t + min Σ (N − tZ)/Zmax.
        """
        a, bits = self.a, self.a.bits
        duals = self.duals(region, direction)
        middle, total = direction[0], 0
        for multiple, (normal, level) in zip(duals[len(self.tables) :], region.cuts):
            if multiple < 0:
                self.lines.refuse("a multiple of a half-space is negative")
            middle = [x - (multiple * w >> bits) for x, w in zip(middle, normal)]
            total += multiple * level >> bits
        radius = direction[1] + len(region.cuts)
        joint: list[int] = []
        slack = at = 0
        for index, (head, dual) in enumerate(zip(self.tables, duals)):
            t = dual
            part = middle[at : at + head.width]
            at += head.width
            total -= (radius * sum(head.reach) >> bits) + 1
            values, doubt = self.projected(index, head, part)
            smallest, largest = self.extremes(index, head, region)
            words = sum(region.free) + len(region.fixed) + len(self.asked) + 1
            cost = [e * (p - t) for e, p in zip(head.mass, values)]
            size = max(map(abs, values)) + abs(t) + doubt
            error = words * (head.mass_error * size + (a.one + head.mass_error) * doubt)
            least = region.least(cost) + cost[-1] - error
            if least < 0:
                t += least // smallest
                cost = [e * (p - t) for e, p in zip(head.mass, values)]
                error = words * (head.mass_error * (size + abs(t)) + (a.one + head.mass_error) * doubt)
            total += t
            if len(self.tables) > 1:
                scale = (1 << 2 * bits) // largest
                joint = [x + scale * y for x, y in zip(joint, cost)] if joint else [scale * x for x in cost]
                slack += scale * error
        if joint:
            total += max(0, region.least(joint) + joint[-1] - slack >> 2 * bits)
        return total

    def duals(self, region: Region, direction: Vector) -> list[int]:  # noqa: ARG002  (a writer searches instead)
        """Return the numbers t and μ of the next line."""
        return self.hints("d", len(self.tables) + len(region.cuts))

    def projected(self, index: int, head: Head, part: list[int]) -> tuple[list[int], int]:
        """Return ⟨part, value⟩ for every row and symbol, and how far they can be off."""
        key = index, tuple(part)
        if key not in self.products:
            if len(self.products) > 4096:
                self.products.clear()
            values = [sum(map(mul, part, value)) >> self.a.bits for value in head.values]
            self.products[key] = values, (head.error * sum(map(abs, part)) >> self.a.bits) + 2
        return self.products[key]

    def extremes(self, index: int, head: Head, region: Region) -> tuple[int, int]:
        """Return the least and the largest mass of all tokens."""
        if index not in region.masses:
            words = sum(region.free) + len(region.fixed) + len(self.asked) + 1
            low = region.least(head.mass) + head.mass[-1] - words * head.mass_error
            high = head.mass[-1] - region.least([-mass for mass in head.mass]) + words * head.mass_error
            if low <= 0:
                self.lines.refuse("the mass of all tokens is not certainly positive; more bits are needed")
            region.masses[index] = low, high
        return region.masses[index]

    def line(self, ends: tuple[int, int], slope: int, *, below: bool) -> tuple[int, int]:
        """Return the slope and offset of a line that is below, or above, the activation between two ends."""
        a, (low, high) = self.a, ends
        if self.name == "identity":
            return a.one, 0
        points, gap = [low, high], 0
        if self.name == "relu":
            points += [0] * (low < 0 < high)
        else:
            step = a.one >> LATTICE
            first, last = max(low, -EDGE * a.one), min(high, EDGE * a.one)
            points += [n * step for n in range(-(-first // step), last // step + 1)]
            widest = min(step, high - low)
            gap = (widest * widest >> a.bits) // 10 + 1
        sign = 1 if below else -1
        best = min(
            sign * (value - (slope * x >> a.bits)) - radius for x in points for value, radius in [a.curve(self.name, x)]
        )
        return slope, sign * (best - gap - 1)

    def relaxed(self, ends: list[tuple[int, int]], weight: Vector, shift: Ball, slopes: list[int] | None) -> Relaxed:
        """Return functionals raw and inner of the outputs, a number divided with inner, and another.

        ⟨weight, y⟩ + shift ≥ raw(o) + q (inner(o) + number) + rest, as c σ(u) ≥ c (slope u + offset), the line below
        where c ≥ 0 and above elsewhere. Without slopes every line is parallel to the chord.
        """
        a = self.a
        gains, rest = [], [a.dot(weight, self.outer_bias), shift]
        for j, outer in enumerate(self.outer):
            c, doubt = a.dot(weight, outer)
            low, high = ends[j]
            if slopes is None:
                rise = a.curve(self.name, high)[0] - a.curve(self.name, low)[0]
                slope = (rise << a.bits) // (high - low) if high > low else 0
            else:
                slope = slopes[j]
            if (j, c >= 0, slope) not in self.drawn:
                self.drawn[j, c >= 0, slope] = self.line(ends[j], slope, below=c >= 0)
            slope, offset = self.drawn[j, c >= 0, slope]
            gains.append(c * slope >> a.bits)
            rest.append((c * offset >> a.bits, (doubt * max(abs(low), abs(high)) >> a.bits) + 2))
        bent: Vector = gains, 1
        total = len(self.rows)
        inner: Vector = [0] * total, 0
        number: Ball = 0, 0
        if gains:
            inner = a.times(bent, [([row[0][k] for row in self.unit_rows], self.unit_rows[0][1]) for k in range(total)])
            number = a.dot(bent, self.unit_shift)
            rest.append(a.dot(bent, self.unit_bias))
        raw = None
        if self.skip and self.inner is not None and not self.raw:
            scaled = a.scaled(weight, self.inner.gain)
            inner = a.plus(inner, a.times(scaled, self.rows))
            more = a.dot(scaled, self.shift)
            number = number[0] + more[0], number[1] + more[1]
            rest.append(a.dot(weight, self.inner.bias))
        elif self.skip:
            rows, moved = (self.rows, self.shift) if self.inner is None else (self.raw_rows, self.raw_shift)
            raw = a.times(weight, rows)
            rest.append(a.dot(weight, moved))
        return raw, inner, number, (sum(x[0] for x in rest), sum(x[1] for x in rest))

    def linear(self, region: Region, found: Relaxed, box: Box | None) -> int:
        """Return the least value of a relaxed functional: of each end of 1/spread, or with the number divided last."""
        raw, inner, number, rest = found
        a = self.a
        if box is not None and raw is None:
            return box.under(self.low(region, inner) + number[0] - number[1]) + rest[0] - rest[1]
        if box is None:
            whole = inner if raw is None else a.plus(raw, inner)
            return self.low(region, whole) + number[0] - number[1] + rest[0] - rest[1]
        assert raw is not None  # noqa: S101  (the first case has the others)
        ends = []
        for spread in (box.least, box.most):
            q = a.div((a.one, 0), (spread, 1))
            scaled = a.vector([a.mul((x, inner[1]), q) for x in inner[0]])
            more = a.mul(number, q)
            low = self.low(region, a.plus(raw, scaled))
            ends.append(low + more[0] - more[1] + rest[0] - rest[1])
        return min(ends)

    def leaf(self, region: Region, sign: int) -> int:
        """Return a lower bound of sign · f over a region."""
        a = self.a
        self.lines.take("leaf", 0)
        seen: dict[str, Any] = {"after": []}
        if self.inner is not None or self.norms:
            at = self.hints("at", len(self.rows))
            seen = self.follow((at, 0))[1]
        box = None if self.inner is None else self.entering(region, self.inner, seen["inner"][0][0])
        ends = []
        for j in range(self.units):
            row, shift, bias = self.unit_rows[j], self.unit_shift, self.unit_bias
            low = self.low(region, row) + shift[0][j] - shift[1]
            high = self.low(region, ([-x for x in row[0]], row[1])) - shift[0][j] - shift[1]
            if box is not None:
                low, high = box.under(low), box.under(high)
            ends.append((low + bias[0][j] - bias[1], -(high - bias[0][j] - bias[1])))
        if any(low > high for low, high in ends):
            return a.one << 4000  # the region is empty
        self.drawn: dict[tuple[int, bool, int], tuple[int, int]] = {}
        later = self.later(region, ends, box)
        slopes = self.slopes(ends, sign, seen)
        weight: Vector = [sign * x for x in self.weight[0]], self.weight[1]
        shift_: Ball = sign * self.bias[0], self.bias[1]
        around = list(zip(later, seen["after"]))
        for stage in reversed(self.after):
            if isinstance(stage, Norm):
                last, (rows, spread) = around.pop()
                kappa = a.dot(weight, stage.bias)
                kappa = kappa[0] + shift_[0], kappa[1] + shift_[1]
                tangent, shift_ = self.tangent(stage, kappa, last, rows[0], spread[0])
                weight = stage.centred(a.plus(a.scaled(weight, stage.gain), tangent))
            else:
                more = a.dot(weight, stage)
                shift_ = shift_[0] + more[0], shift_[1] + more[1]
        found = self.relaxed(ends, weight, shift_, slopes)
        if box is not None and self.inner is not None and found[0] is None:
            rows, spread = seen["inner"]
            tangent, constant = self.tangent(self.inner, found[3], box, rows[0], spread[0])
            turned = a.plus(found[1], a.times(tangent, self.rows))
            moved = a.dot(tangent, self.shift)
            low = self.low(region, turned) + found[2][0] - found[2][1] + moved[0] - moved[1] + constant[0] - constant[1]
            low = max(box.under(low), self.linear(region, found, box))
        else:
            low = self.linear(region, found, box)
        for last in later:
            low = last.under(low)
        self.leaves += 1
        return low

    def slopes(self, ends: list[tuple[int, int]], sign: int, seen: dict[str, Any]) -> list[int]:  # noqa: ARG002
        """Return the slope of each unit's line."""
        return self.hints("slopes", self.units)

    def entering(self, region: Region, norm: Norm, along: list[int]) -> Box:
        """Return the box of the rows that enter the first norm; `along` has any row, better one inside."""
        a, (shift, doubt) = self.a, self.shift
        low, high = [], []
        columns = [([row[0][i] for row in self.rows], self.rows[0][1]) for i in range(len(shift))]
        for (column, radius), c in zip(columns, shift):
            low.append(self.low(region, (column, radius)) + c - doubt)
            high.append(c + doubt - self.low(region, ([-x for x in column], radius)))
        length = isqrt(sum(x * x for x in along)) + 1
        moved = a.dot((along, 0), self.shift)
        ahead = max(0, self.low(region, a.times((along, 0), self.rows)) + moved[0] - moved[1])
        lowest = ((ahead << a.bits) // length) ** 2
        middle = [(x + y) // 2 for x, y in zip(low, high)]
        back: Vector = [-x for x in middle], 0
        moved = a.dot(back, self.shift)
        behind = self.low(region, a.times(back, self.rows)) + moved[0] - moved[1]
        far = sum(max(y - m, m - x) ** 2 for x, y, m in zip(low, high, middle))
        highest = max(0, far - sum(m * m for m in middle) - (behind << a.bits + 1))
        return Box(norm, low, high, lowest, highest)

    def tangent(self, norm: Norm, kappa: Ball, box: Box, rows: list[int], spread: int) -> tuple[Vector, Ball]:
        """Return ⟨coefficient, centred x⟩ + constant below κ · spread(x).

        spread ≥ ⟨t, x⟩ + t₀ when d ‖t‖² + t₀²/ε ≤ 1. spread ≤ ((2⟨c, x⟩ − ‖c‖² + R)/d + ε + r²)/(2r) with R ≥ ‖x − c‖².
        """
        a, d = self.a, len(rows)
        if kappa[0] >= 0:
            eps = norm.eps[0] - norm.eps[1]
            slope = [(x << a.bits) // (d * spread) for x in rows]
            height = (eps << a.bits) // spread
            length = max(a.one, isqrt(d * sum(x * x for x in slope) - (-(height * height << a.bits) // eps)) + 1)
            slope = [(1 if x > 0 else -1) * ((abs(x) << a.bits) // length) for x in slope]  # never longer
            height = (height << a.bits) // length
            low = kappa[0] * height >> a.bits
            return ([kappa[0] * x >> a.bits for x in slope], 1), (low, (kappa[1] * box.most >> a.bits) + 2)
        centre = [(x + y) // 2 for x, y in zip(box.low, box.high)]
        far = sum(max(y - c, c - x) ** 2 for x, y, c in zip(box.low, box.high, centre))
        scaled = a.div((kappa[0], 0), (spread, 0))
        known = -(-(far - sum(c * c for c in centre)) // (d << a.bits)) + norm.eps[0] + norm.eps[1]
        known += (spread * spread >> a.bits) + 1
        coefficient = a.vector([a.mul((scaled[0] // d, scaled[1] + 1), (c, 0)) for c in centre])
        constant = a.mul((scaled[0] >> 1, scaled[1] + 1), (known, 1))
        return coefficient, (constant[0], constant[1] + (kappa[1] * box.most >> a.bits) + 2)

    def later(self, region: Region, ends: list[tuple[int, int]], box: Box | None) -> list[Box]:
        """Return the box of the rows that enter each later norm."""
        boxes: list[Box] = []
        if not self.norms:
            return boxes
        a, d, first = self.a, self.width_out, self.norms[0]
        bounds = []
        for turn in (1, -1):
            for i in range(d):
                weight = first.centred(([turn * a.one * (i == j) for j in range(d)], 0))
                bounds.append(self.linear(region, self.relaxed(ends, weight, (0, 0), None), box))
        low, high = bounds[:d], [-x for x in bounds[d:]]
        shift: Vector = [0] * d, 0
        for stage in self.after:
            if not isinstance(stage, Norm):
                shift = a.plus(shift, stage)
                continue
            moved = shift if boxes else stage.centred(shift)
            low = [x + m - moved[1] for x, m in zip(low, moved[0])]
            high = [x + m + moved[1] for x, m in zip(high, moved[0])]
            if boxes and stage.centres:
                least, most = sum(low) // d, -(-sum(high) // d)
                low, high = [x - most for x in low], [x - least for x in high]
            boxes.append(Box(stage, low, high))
            pairs = []
            for x, y, gain, bias in zip(low, high, stage.gain[0], stage.bias[0]):
                both = [a.mul((end, 1), (gain, stage.gain[1])) for end in (boxes[-1].under(x), -boxes[-1].under(-y))]
                doubt = max(both[0][1], both[1][1]) + stage.bias[1]
                pairs.append((min(both)[0] + bias - doubt, max(both)[0] + bias + doubt))
            low, high = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            shift = [0] * d, 0
        return boxes

    # the verdict

    def refute(self) -> int:
        """Return by how much f is wrong at a word."""
        lines = self.lines
        word = lines.wholes(lines.take("wrong", self.length), 0, self.symbols - 1)
        answer = self.answers[self.number_of(word)]
        if answer == "-":
            lines.refuse("nothing is claimed of this word")
        value, radius = self.follow(self.outputs(word))[0]
        size = (value if answer == "0" else -value) - radius
        if size <= 0:
            lines.refuse("the word is not certainly answered wrongly")
        return size

    def sample(self) -> None:
        """Check that k errors on m draws bound the error of the function of the cells, of all functions at once.

        P(Bin(m, b) ≤ k) ≤ δ · prior, the prior of a function of s positions 2^(−A^s)/((s+1)(s+2) C(T, s)).
        """
        lines = self.lines
        draws, errors, delta, bound = lines.take("sample", 4)
        m, k = lines.whole(draws, 1, 10**5), lines.whole(errors, 0, 10**3)
        (d, e), (b, power) = ([lines.whole(part, -5000, 2**64) for part in x.split(":")] for x in (delta, bound))
        s, one = len(self.asked), 1 << max(-power, 0)
        if self.kind != "cells" or self.wrong or power > 0 or not 0 <= b <= one or k > m or d < 1 or e > 0:
            lines.refuse("a bound from a sample is of cells that were proved")
        tail = sum(comb(m, i) * b**i * (one - b) ** (m - i) for i in range(k + 1))
        functions = (s + 1) * (s + 2) * comb(self.length, s) << self.symbols**s
        if b < one and tail * functions << -e > d * one**m:  # an error is at most 1
            lines.refuse("the sample does not show this bound")

    def outputs(self, word: Sequence[int]) -> Vector:
        """Return the outputs of all heads at a word."""
        others = len(self.counts) - 1
        entries = [self.row.get(place, others) * self.symbols + symbol for place, symbol in enumerate(word)] + [-1]
        balls = []
        for head in self.tables:
            mass = sum(head.mass[entry] for entry in entries), len(entries) * head.mass_error
            doubt = len(entries) * head.mass_error, (self.a.one + head.mass_error) * head.error * len(entries)
            for k in range(head.width):
                middle = sum(head.mass[entry] * head.values[entry][k] for entry in entries) >> self.a.bits
                off = doubt[0] * head.reach[k] + doubt[1] >> self.a.bits
                balls.append(self.a.div((middle, off + 2), mass))
        return self.a.vector(balls)

    def run(self) -> tuple[str, int, int]:
        """Check everything, and return the verdict and the margin, a number and a power of two."""
        lines = self.lines
        self.header()
        self.heads()
        self.stages()
        self.claim()
        self.wrong = lines.word() == "wrong"
        shown = self.refute() if self.wrong else self.prove()
        if lines.word() == "sample":
            self.sample()
        number, _, power = lines.take("margin", 1)[0].partition(":")
        margin = lines.whole(number, 1), lines.whole(power, -5000, 5000)
        if self.a.read(*margin)[0] + 1 > shown + (not self.a.read(*margin)[1]):
            lines.refuse(f"this margin was not shown; {shown / self.a.one:.6g} was")
        return ("WRONG" if self.wrong else "PROVED", *margin)


def numbers_of(path: str) -> tuple[str, dict[str, list[tuple[int, int]]]]:
    """Return the digest of a safetensors file, and its numbers as pairs m, e."""
    with open(path, "rb") as file:
        content = file.read()
    size = int.from_bytes(content[:8], "little")
    named = json.loads(content[8 : 8 + size])
    body, tensors = content[8 + size :], {}
    forms = {"F64": (8, 52, 1023), "F32": (4, 23, 127), "F16": (2, 10, 15), "BF16": (2, 7, 127)}
    for name, entry in named.items():
        if name == "__metadata__" or entry["dtype"] not in forms:
            continue
        width, bits, bias = forms[entry["dtype"]]
        start, stop = entry["data_offsets"]
        pairs = []
        for at in range(start, stop, width):
            raw = int.from_bytes(body[at : at + width], "little")
            power = raw >> bits & (1 << 8 * width - 1 - bits) - 1
            whole = (raw & (1 << bits) - 1) | (1 << bits if power else 0)
            pairs.append((-whole if raw >> 8 * width - 1 else whole, max(power, 1) - bias - bits))
        tensors[name] = pairs
    return hashlib.sha256(content).hexdigest(), tensors


def compare(check: Check, path: str) -> int:
    """Refuse weights that are not those of the certificate; return how many tensors are equal."""
    digest, tensors = numbers_of(path)
    if digest != check.weights:
        raise Refused(f"{path} has the digest {digest}, the certificate names {check.weights}")
    equal = 0
    for name, (_, power, numbers) in check.tensors.items():
        if name in tensors:
            pairs = tensors[name]
            if len(pairs) != len(numbers) or any(
                m << e + 5000 != number << power + 5000 for number, (m, e) in zip(numbers, pairs)
            ):
                raise Refused(f"the tensor {name} is not the one in {path}")
            equal += 1
    return equal


def check_text(text: str, weights: str | None = None) -> list[tuple[str, Check, int, int]]:
    """Check every certificate of a text."""
    lines = Lines(text)
    shown: list[tuple[str, Check, int, int]] = []
    while lines.word() or not shown:
        check = Check(lines)
        try:
            verdict, number, power = check.run()
        except Refused as error:
            raise error if str(error).startswith("line ") else Refused(_at(lines, str(error))) from None
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise Refused(_at(lines, f"not understood ({type(error).__name__}: {error})")) from error
        if weights is not None:
            compare(check, weights)
        shown.append((verdict, check, number, power))
    return shown


def _at(lines: Lines, why: str) -> str:
    return f"line {lines.rows[min(lines.place, len(lines.rows)) - 1][0]}: {why}"


def main(words: Sequence[str]) -> int:
    """Check a file and print what it proves."""
    if len(words) not in (1, 2):
        print(__doc__)
        return 2
    try:
        with open(words[0], encoding="utf-8") as file:
            shown = check_text(file.read(), words[1] if len(words) == 2 else None)
    except (Refused, OSError, UnicodeDecodeError) as error:
        print(f"REFUSED: {error}")
        return 1
    for verdict, check, number, power in shown:
        millionths = (number * 10**6 << max(power, 0)) >> max(-power, 0)  # rounded down
        print(f"{verdict} with margin {number}:{power} ≥ {millionths // 10**6}.{millionths % 10**6:06}: "
              f"{check.kind} of {len(check.asked)} positions, answers {check.answers[:64]}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
