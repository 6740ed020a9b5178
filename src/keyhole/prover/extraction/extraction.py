"""Read a function of few positions off a model by replacing one token at a time.

With e·v and e summed over all tokens but one, a replaced token is one addition: heads·k numbers per flip, not T.
The sums that leave a token out are added up from both sides, never subtracted from the whole, so that a token with
nearly all the mass does not wipe out the others. What is found is a candidate; only a proof makes it more.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Float, Int, Int8
from keyhole.attention import Evaluator, from_terms
from keyhole.boolean import Junta, SymbolLaw, uniform_law, without_ignored
from keyhole.decimals import percent
from keyhole.errors import AssumptionError

AGREEMENT = 0.998  # of fresh inputs: what a candidate must reach
SAMPLES = 8192  # fresh inputs for that: its standard error is then .0005
FLIPPED = 256  # backgrounds in which each candidate position is changed
VOTERS = 128  # backgrounds that vote on each cell of a table
CANDIDATES = 64  # positions of largest contrast that are looked at first
MOST_CELLS = 4096
HELD = 2**23  # numbers held at once while flipping


@dataclass(frozen=True, eq=False)
class Extraction:
    """A junta that agrees with the model on nearly all inputs, or why there is none."""

    junta: Junta | None
    agreement: float  # of the junta, or of the best that was tried, on fresh inputs
    influences: tuple[tuple[int, float], ...]  # E|f(b) − f(b with t replaced)|, strongest first, of what was asked
    samples: int
    reason: str = ""


def extract(
    evaluator: Evaluator, *, seed: int = 0, samples: int = SAMPLES, largest: int = 6, law: SymbolLaw | None = None
) -> Extraction:
    """The smallest candidate, of at most `largest` positions, that agrees with the model on 99.8 % of inputs.

    Positions are ranked by influence, first those of largest contrast, then, should none of them do, all.
    """
    model = evaluator.model
    law = law or uniform_law(model.symbols)
    if law.symbols != model.symbols:
        raise AssumptionError(
            f"The law draws {law.symbols} symbols, and the model reads {model.symbols}; make them equal."
        )
    rng = np.random.default_rng([seed, 1])
    fresh = law.draw(samples, model.tokens, rng)
    answers = np.asarray(evaluator(fresh)) > 0
    asked = np.argsort(-contrast(evaluator, law), kind="stable")
    extraction = Extraction(None, 0.0, (), samples)
    for count in sorted({min(CANDIDATES, model.tokens), model.tokens}):
        extraction = _among(evaluator, law, np.sort(asked[:count]), fresh, answers, largest, rng)
        if extraction.junta is not None:
            break
    return extraction


def agreement(evaluator: Evaluator, junta: Junta, *, seed: int, samples: int, law: SymbolLaw) -> float:
    """The share of inputs on which the two agree: of those that `extract` draws with this seed to choose by."""
    fresh = law.draw(samples, evaluator.model.tokens, np.random.default_rng([seed, 1]))
    return float(np.mean(junta(fresh) == (np.asarray(evaluator(fresh)) > 0)))


def _among(
    evaluator: Evaluator,
    law: SymbolLaw,
    candidates: Int[np.ndarray, "c"],
    fresh: Int8[np.ndarray, "n T"],
    answers: Bool[np.ndarray, "n"],
    largest: int,
    rng: np.random.Generator,
) -> Extraction:
    """The smallest junta on the most influential candidates that agrees with the answers."""
    model = evaluator.model
    columns = sum(head.values.shape[2] + 1 for head in model.heads)
    count = max(16, min(FLIPPED, HELD // (len(candidates) * columns)))
    moved = influences(evaluator, law.draw(count, model.tokens, rng), candidates, rng)
    order = np.argsort(-moved, kind="stable")
    ranked = tuple((int(candidates[i]), float(moved[i])) for i in order)
    voters = law.draw(VOTERS, model.tokens, rng)
    best, size = -1.0, 0
    for s in range(min(largest, len(ranked)) + 1):
        if model.symbols**s > MOST_CELLS:
            break
        positions = tuple(sorted(place for place, _ in ranked[:s]))
        junta = Junta(positions, model.symbols, majority_table(evaluator, voters, positions))
        share = float(np.mean(junta(fresh) == answers))
        if share >= AGREEMENT:
            return Extraction(without_ignored(junta), share, ranked, len(fresh))
        best, size = max((best, size), (share, s))
    reason = (
        f"no function of at most {largest} positions was found that agrees with the model on {percent(AGREEMENT)} of "
        f"inputs; the best, of {size}, agrees on {percent(best)}"
    )
    return Extraction(None, best, ranked, len(fresh), reason)


def contrast(evaluator: Evaluator, law: SymbolLaw) -> Float[np.ndarray, "T"]:
    """Return the first-order move by a replaced token: ‖Δ(e v) − o Δe‖/Z, summed over heads, o = E N/E Z."""
    model, (table, own) = evaluator.model, evaluator.terms_by_position
    weights = np.asarray(law.chances)[None, :, None]
    means = (weights * table).sum(axis=1)
    totals = own + means.sum(axis=0)
    moves, start = np.zeros(model.tokens), 0
    for head in model.heads:
        stop = start + head.values.shape[2]
        mass = totals[stop]
        centre = totals[start:stop] / mass
        off = table - means[:, None, :]
        step = off[:, :, start:stop] - off[:, :, stop : stop + 1] * centre
        moves += (weights[:, :, 0] * np.linalg.norm(step, axis=2)).sum(axis=1) / mass
        start = stop + 1
    return moves


def influences(
    evaluator: Evaluator,
    backgrounds: Int8[np.ndarray, "n T"],
    candidates: Int[np.ndarray, "c"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "c"]:
    """E|f(b) − f(b′)| for each candidate position, b′ showing another symbol there; over bits, the flipped one."""
    model, (table, _) = evaluator.model, evaluator.terms_by_position
    shown = backgrounds[:, candidates].astype(np.int64)
    parts = np.moveaxis(table[candidates[None, :], shown], 1, 0)  # (c, n, columns)
    base = _summed_without(evaluator, backgrounds, tuple(candidates.tolist()))
    after = np.concatenate([np.cumsum(parts[::-1], axis=0)[::-1][1:], np.zeros((1, *base.shape))])
    before = base.copy()
    moved = np.empty(len(candidates))
    for index, place in enumerate(candidates):
        others = before + after[index]
        changed = (shown[:, index] + rng.integers(1, model.symbols, len(shown))) % model.symbols
        now, then = (from_terms(model, others + row) for row in (parts[index], table[place, changed]))
        moved[index] = np.mean(np.abs(np.asarray(then) - np.asarray(now)))
        before += parts[index]
    return moved


def majority_table(
    evaluator: Evaluator, backgrounds: Int8[np.ndarray, "n T"], positions: tuple[int, ...]
) -> Bool[np.ndarray, "cells"]:
    """Return the model's most frequent answer to each cell, over backgrounds into which the cell is written."""
    model, (table, _) = evaluator.model, evaluator.terms_by_position
    base = _summed_without(evaluator, backgrounds, positions)
    cells = Junta(positions, model.symbols, np.zeros(model.symbols ** len(positions), dtype=bool)).cells()
    answers = []
    for cell in cells:
        total = base + sum((table[place, symbol] for place, symbol in zip(positions, cell, strict=True)), start=0.0)
        answers.append(np.mean(np.asarray(from_terms(model, total)) > 0) > 0.5)
    return np.asarray(answers, dtype=bool)


def _summed_without(
    evaluator: Evaluator, backgrounds: Int8[np.ndarray, "n T"], positions: tuple[int, ...]
) -> Float[np.ndarray, "n columns"]:
    """The terms of [CLS] and of all tokens but those at these positions, added up for each background."""
    model, (table, own) = evaluator.model, evaluator.terms_by_position
    rest = np.setdiff1d(np.arange(model.tokens), positions)
    total = np.tile(own, (len(backgrounds), 1))
    for symbol in range(model.symbols):
        total += (backgrounds[:, rest] == symbol).astype(np.float64) @ table[rest, symbol]
    return total
