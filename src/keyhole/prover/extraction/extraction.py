"""Read a function of few positions off a model by replacing one token at a time.

With e·v and e summed over all tokens but one, a replaced token is one addition: heads·k numbers per flip, not T.
The sums that leave a token out are added up from both sides, never subtracted from the whole, so that a token with
nearly all the mass does not wipe out the others. What is found is a candidate; only a proof makes it more.

The scope of proofs: one layer of softmax heads read at [CLS] over a finite alphabet, as tables of doubles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from keyhole.arrays import Bool, Float, Int, Int8
from keyhole.attention import (
    Evaluator,
    Model,
    Softmax,
    Tabulated,
    dense,
    from_terms,
    is_safe,
    numbers_of,
    saves_rows,
    tabulate,
)
from keyhole.boolean import Junta, SymbolLaw, uniform_law, without_ignored
from keyhole.decimals import percent
from keyhole.errors import AssumptionError, ShapeError
from keyhole.prover.proof.tables import Drift

AGREEMENT = 0.998  # of fresh inputs: what a candidate must reach
SAMPLES = 8192  # fresh inputs for that: its standard error is then .0005
FLIPPED = 256  # backgrounds in which each candidate position is changed
VOTERS = 128  # backgrounds that vote on each cell of a table
CANDIDATES = 64  # positions of largest contrast that are looked at first
LARGEST = 6  # positions of a candidate
MOST_CELLS = 4096
HELD = 2**23  # numbers held at once while flipping


@dataclass(frozen=True, eq=False)
class Extraction:
    """A junta that agrees with the model on nearly all inputs, or why there is none."""

    junta: Junta | None
    agreement: float  # of the junta, or of the best that was tried, on fresh inputs
    influences: tuple[tuple[int, float], ...]  # E|f(b) − f(b with t replaced)|, strongest first, of what was asked
    reason: str = ""


def extract(evaluator: Evaluator, *, seed: int = 0, law: SymbolLaw | None = None) -> Extraction:
    """The smallest candidate, of at most 6 positions, that agrees with the model on 99.8 % of inputs.

    Positions are ranked by influence, first those of largest contrast, then, should none of them do, all.
    """
    model = evaluator.model
    law = law or uniform_law(model.symbols)
    if law.symbols != model.symbols:
        raise AssumptionError(
            f"The law draws {law.symbols} symbols, and the model reads {model.symbols}; make them equal."
        )
    rng = np.random.default_rng([seed, 1])
    fresh = law.draw(SAMPLES, model.tokens, rng)
    answers = np.asarray(evaluator(fresh)) > 0
    by_contrast = np.argsort(-contrast(evaluator, law), kind="stable")
    columns = sum(head.values.shape[2] + 1 for head in model.heads)
    for count in sorted({min(CANDIDATES, model.tokens), model.tokens}):
        candidates = np.sort(by_contrast[:count])
        backgrounds = law.draw(max(16, min(FLIPPED, HELD // (count * columns))), model.tokens, rng)
        moved = influences(evaluator, backgrounds, candidates, rng)
        order = np.argsort(-moved, kind="stable")
        ranked = tuple((int(candidates[i]), float(moved[i])) for i in order)
        voters = law.draw(VOTERS, model.tokens, rng)
        best, size = -1.0, 0
        for s in range(min(LARGEST, len(ranked)) + 1):
            if model.symbols**s > MOST_CELLS:
                break
            positions = tuple(sorted(place for place, _ in ranked[:s]))
            junta = Junta(positions, model.symbols, majority_table(evaluator, voters, positions))
            share = float(np.mean(junta(fresh) == answers))
            if share >= AGREEMENT:
                return Extraction(without_ignored(junta), share, ranked)
            best, size = max((best, size), (share, s))
    reason = (
        f"no function of at most {LARGEST} positions was found that agrees with the model on {percent(AGREEMENT)} of "
        f"inputs; the best, of {size}, agrees on {percent(best)}"
    )
    return Extraction(None, best, ranked, reason)


def agreement(evaluator: Evaluator, junta: Junta, *, seed: int, law: SymbolLaw) -> float:
    """The share of inputs on which the two agree: of those that `extract` draws with this seed to choose by."""
    fresh = law.draw(SAMPLES, evaluator.model.tokens, np.random.default_rng([seed, 1]))
    return float(np.mean(junta(fresh) == (np.asarray(evaluator(fresh)) > 0)))


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


LONGEST = 20_000  # positions; inputs are drawn in full
WIDEST = 64  # symbols


@dataclass(frozen=True, eq=False)
class CertifiableModel:
    """Tables in double precision, and how far those of the weights may lie off.

    Tables that keep a shared row once stay so, where that saves half of the rows; else every position has its row.

    Without drifts the tables are the model. With them the model is the function that the weights define in exact
    arithmetic; weights of single precision are exact as doubles. No implementation is meant.
    """

    tables: Tabulated
    drifts: tuple[Drift, ...] | None = None
    note: str = ""  # how its file says it was repaired before it was written
    of_weights: bool = True  # drifts, if any, are those of tables from their weights, not of tables as given
    assumed: tuple[str, ...] = ()  # what was taken on the word of a description, a sentence each
    described: Mapping[str, Any] | None = None  # the same as plain values
    given: Model | Tabulated | None = None  # the model that the tables are of, as doubles


def certifiable(model: Model | Tabulated) -> CertifiableModel:
    """The model as it is certified; refuses, in a sentence, what is out of scope, and tables off by more than 1e-9.

    Where doubles do not hold the tables (sums that cancel, scores too far apart), they are made in more bits.
    """
    if isinstance(model, Model) and len(model.blocks) != 1:
        raise AssumptionError(
            f"A model of {len(model.blocks)} layers was to be certified; after one layer tokens depend on each other, "
            "so only one-layer models read at [CLS] have tables. Certify a one-layer model."
        )
    given = in_format(model)
    tabulated = tabulate(given) if isinstance(model, Model) else given
    if tabulated.tokens > LONGEST or tabulated.symbols > WIDEST:
        raise AssumptionError(
            f"A model of {tabulated.tokens} positions over {tabulated.symbols} symbols was to be certified; up to "
            f"{LONGEST} positions and {WIDEST} symbols are read. `keyhole check` proves compiled models of any length."
        )
    if not all(isinstance(head.normaliser, Softmax) for head in tabulated.heads):
        raise AssumptionError("A head normalises otherwise than by softmax; only softmax heads are certified.")
    for part in _arrays(tabulated):
        if not np.isfinite(part).all():
            raise ShapeError("The model's weights hold NaN or infinity; only finite weights compute a function.")
    if not isinstance(model, Model):
        listed = tabulated.positions
        thin = listed is not None and saves_rows(len(listed), tabulated.tokens)
        tables = tabulated if thin else dense(tabulated)
        if is_safe(tables):
            return CertifiableModel(tables, given=tables)
        from keyhole.prover.extraction.exact_tables import nearer_tables  # noqa: PLC0415  (hardly ever)

        nearer, moved = nearer_tables(tables)
        _require_safe(nearer)
        return CertifiableModel(nearer, moved, of_weights=False, given=tables)
    from keyhole.prover.extraction.drift import drifts_of, is_exact_enough, require_exact_enough  # noqa: PLC0415

    if is_safe(tabulated):
        drifts = drifts_of(given, tabulated)
        if is_exact_enough(drifts, tabulated):
            return CertifiableModel(tabulated, drifts, given=given)
    from keyhole.prover.extraction.exact_tables import exact_tables  # noqa: PLC0415  (hardly ever)

    tables, drifts = exact_tables(given, tabulated) or (tabulated, drifts_of(given, tabulated))
    _require_safe(tables)
    require_exact_enough(drifts, tables)
    return CertifiableModel(tables, drifts, given=given)


def _require_safe(tables: Tabulated) -> None:
    """Refuse heads whose exponentials leave the range of doubles."""
    if not is_safe(tables):
        raise AssumptionError(
            "A head's scores lie so far apart that their exponentials leave the range of doubles, with too many steps "
            "between them to bring them nearer. Scale its queries down."
        )


def in_format(value: Any, kind: Any = np.float64) -> Any:
    """Return the same record with every array, of whichever library, as numpy's in a number format."""
    if is_array_api_obj(value):
        return numbers_of(value).astype(kind, copy=False)
    if isinstance(value, tuple):
        return tuple(in_format(part, kind) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: in_format(getattr(value, part.name), kind) for part in fields(value)})
    return value


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple):
        return [array for part in value for array in _arrays(part)]
    if is_dataclass(value):
        return [array for part in fields(value) for array in _arrays(getattr(value, part.name))]
    return []
