"""A certificate read by other code than the checker's: f and the claim at every word.

In double precision, or, where that does not agree, in balls of Arb of many bits.
"""

from itertools import product
from math import erf

import numpy as np
from flint import arb, ctx

BITS = 20_000  # more than any exponent that an edit is likely to make


def gelu(x):
    """Return x Φ(x)."""
    if isinstance(x, float):
        return x * (1 + erf(x / 2**0.5)) / 2
    return x * (1 + (x / arb(2).sqrt()).erf()) / 2


def gelu_tanh(x):
    """Return the approximation of GPT-2."""
    if isinstance(x, float):
        return x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2
    return x * (1 + ((2 / arb.pi()).sqrt() * (x + arb(44715) / 1_000_000 * x**3)).tanh()) / 2


ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": np.vectorize(gelu, otypes=[object]),
    "gelu_tanh": np.vectorize(gelu_tanh, otypes=[object]),
}


def rows_of(text):
    """The lines as words, comments left out."""
    return [row.split() for row in text.split("\n") if row.strip() and not row.startswith("#")]


def dyadic(word, *, exact=False):
    """A number m:e."""
    return number_of(*map(int, word.split(":")), exact=exact)


def number_of(number, power, *, exact):
    """Return number · 2^power as a double or a ball."""
    return arb(number) * arb(2) ** power if exact else float(number) * 2.0**power


def norm(x, gain, bias, eps, kind):
    """LayerNorm or RMSNorm."""
    x = x - x.sum(axis=-1, keepdims=True) / x.shape[-1] if kind == "centre" else x
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) / x.shape[-1] + eps) * gain + bias


def enumerated(text, *, exact=False):  # noqa: C901, PLR0912, PLR0915  (one reader of one page)
    """For every word: f less the threshold, and the answer claimed (1, 0 or -)."""
    rows = rows_of(text)
    tensors, heads, stages = {}, [], []
    given = {}
    for word, *rest in rows:
        if word == "tensor":
            shape = tuple(map(int, rest[2].split("x")))
            numbers = [number_of(int(number), int(rest[1]), exact=exact) for number in rest[3:]]
            tensors[rest[0]] = np.array(numbers, dtype=object if exact else float).reshape(shape)
        elif word == "head":
            heads.append(rest)
        elif word in ("affine", "add", "norm", "feed"):
            stages.append((word, rest))
        elif word == "move":
            given.setdefault("moves", []).append(list(map(int, rest)))
        elif word not in ("class", "leaf", "d", "slopes", "at", "split", "cut"):
            given.setdefault(word, rest)

    def of(name, *shape):
        return np.zeros(shape) if name == "-" else tensors[name].reshape(shape) if shape else tensors[name]

    def affine(x, weight, bias):
        x = x if weight == "-" else x @ tensors[weight]
        return x if bias == "-" else x + tensors[bias]

    def normed(x, words):
        return norm(x, tensors[words[0]], of(words[1], x.shape[-1]), dyadic(words[2], exact=exact), words[3])

    length, symbols = map(int, given["words"])
    listed = [int(place) for place in given["rows"] if place != "*"]
    rows_at = [listed.index(place) if place in listed else len(listed) for place in range(length)]
    tokens = None
    if "embed" in given:
        *parts, cls = given["embed"]
        table = tensors[parts[0]] if len(parts) == 1 else None
        if table is None:
            codes, symbol = tensors[parts[0]], tensors[parts[1]]
            spare = symbol.shape[1] - codes.shape[1]
            codes = np.concatenate([codes, np.zeros((len(codes), spare), dtype=codes.dtype)], axis=1)
            table = codes[:, None] + symbol[None]
        tokens = np.concatenate([table.reshape(-1, table.shape[-1]), tensors[cls][None]])
        tokens = normed(tokens, given["enter"]) if "enter" in given else tokens
    words = np.array(list(product(range(symbols), repeat=length)))
    shown = np.array(rows_at) * symbols + words
    outputs = []
    for kind, *named in heads:
        over, names = (dyadic(named[-1], exact=exact), named[:-2]) if named[-2:-1] == ["over"] else (1.0, named)
        if kind == "table":
            scores = np.append(tensors[names[0]].ravel(), tensors[names[2]])
            values = np.concatenate([tensors[names[1]].reshape(len(scores) - 1, -1), of(names[3], 1, -1)])
        elif kind == "factored":
            query = affine(tokens[-1], names[0], names[1])
            scores = (
                affine(tokens, names[2], names[3])
                @ query
                / number_of(len(query), 0, exact=exact) ** (arb(0.5) if exact else 0.5)
            )
            values = affine(tokens, names[4], names[5])
        else:
            scores, values = tokens @ tensors[names[0]] @ tokens[-1], affine(tokens, names[1], names[2])
        mass = np.exp((scores - max(scores)) / over)
        present = np.concatenate([shown, np.full((len(words), 1), len(scores) - 1)], axis=1)
        weight = mass[present]
        outputs.append((weight[:, :, None] * values[present]).sum(axis=1) / weight.sum(axis=1)[:, None])
    x = np.concatenate(outputs, axis=1) if given["join"] == ["concatenate"] else sum(outputs)
    for stage, names in stages:
        if stage == "affine":
            x = affine(x, *names)
        elif stage == "add":
            x = x + tensors[names[0]]
        elif stage == "norm":
            x = normed(x, names)
        else:
            z = normed(x, names[6:]) if names[6:] else x
            active = np.asarray(ACTIVATIONS[names[0]](affine(z, *names[1:3])), dtype=object if exact else float)
            y = affine(active, *names[3:5])
            x = x + y if names[5] == "skip" else y
    f = affine(x @ tensors[given["read"][0]], "-", given["read"][1]) - dyadic(given["threshold"][0], exact=exact)
    kind, *asked = given["claim"]
    read = words[:, list(map(int, asked))]
    if kind == "cells":
        number = read @ symbols ** np.arange(len(asked))
    elif kind == "counts":
        number = sum(np.array([int(bit) for bit in bits])[read[:, i]] for i, bits in enumerate(given["counted"]))
    else:
        number = np.zeros(len(words), dtype=int)
        for column in read.T:
            number = np.array(given["moves"])[number, column]
    return words, np.asarray(f, dtype=float).ravel(), np.array(list(given["answers"][0]))[number]


def truth(text, slack=1e-7):
    """Whether what a certificate states is true: of all words, or that the given word is answered wrongly."""
    return _holds(text, slack, exact=False) or _holds(text, 1e-12, exact=True)


def _holds(text, slack, *, exact):
    before, ctx.prec = ctx.prec, BITS
    try:
        words, f, answers = enumerated(text, exact=exact)
    except OverflowError:
        return False
    finally:
        ctx.prec = before
    rows = rows_of(text)
    margin = dyadic(next(row[1] for row in rows if row[0] == "margin"))
    signed = np.where(answers == "1", f, -f)
    allowed = slack * (1 + np.abs(f))
    wrong = [list(map(int, row[1:])) for row in rows if row[0] == "wrong"]
    if wrong:
        at = [word.tolist() for word in words].index(wrong[0])
        return answers[at] != "-" and signed[at] <= -margin + allowed[at]
    spoken = answers != "-"
    return bool((signed >= margin - allowed)[spoken].all())
