"""Random step models and claims that are small enough to enumerate."""

import numpy as np

from keyhole.attention import (
    GELU,
    Affine,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    ReLU,
    RMSNorm,
    SiLU,
    StepHead,
    StepModel,
    Turn,
)
from keyhole.languages import Columns, Prompt, read_columns

CLAIMS = (
    *("addition:2:2", "addition:3:2", "addition:2:3", "subtraction:2:3", "sum:3:2:2", "copy:3:3", "reverse:3:2"),
    *("modular:4", "addition:2:4"),
)


def random_claim(rng: np.random.Generator) -> Columns:
    """A claim of at most a few hundred words, with or without separators and an end, in either order of digits."""
    highest = bool(rng.random() < 0.3)
    separated = bool(rng.random() < 0.8)
    prompt = Prompt(
        between=(4,) if separated else (),
        after=(5,) if separated else (),
        end=(5,) if rng.random() < 0.3 else (),
        lowest_first=bool(rng.random() < 0.7),
        answer_lowest_first=not highest,
    )
    return read_columns(str(rng.choice(CLAIMS)), prompt)


def random_model(rng: np.random.Generator, positions: int, symbols: int = 6) -> StepModel:
    """One or two heads of rank 1 to 3, either norm or none, any activation, gated or not, at times with turned keys."""
    d, k, heads = int(rng.integers(3, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    tied = rng.random() < 0.5
    tokens, places = rng.normal(size=(symbols, d)), rng.normal(size=(positions, d))
    if tied:  # positions that show the same rows
        places = places[rng.integers(0, 3, positions)]
    rank = int(rng.integers(1, 4))

    def matrix(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) / np.sqrt(shape[0])

    def norm() -> tuple:
        kind = rng.integers(3)
        bias = rng.normal(size=d) * 0.3 if rng.random() < 0.5 else None
        return () if kind == 0 else ((RMSNorm, LayerNorm)[kind - 1](1 + 0.3 * rng.normal(size=d), bias),)

    turns = np.stack([np.linalg.qr(rng.normal(size=(k, k)))[0] for _ in range(positions)])
    turned = (Turn(turns),) if rng.random() < 0.3 else ()
    output = (Affine(matrix(rank, d)),)
    layers = tuple(
        StepHead(
            (Affine(2 * matrix(d, k), rng.normal(size=k)), *turned),
            (Affine(matrix(d, k)), *turned),
            (Affine(matrix(d, rank), rng.normal(size=rank) if rng.random() < 0.3 else None),),
            output if rng.random() < 0.4 else (Affine(matrix(rank, d)),),
            scale=float(np.sqrt(k)),
        )
        for _ in range(heads)
    )
    activation = (GELU(), ReLU(), SiLU())[rng.integers(3)]
    hidden = 3
    inner, outer = Affine(matrix(d, hidden), rng.normal(size=hidden)), Affine(matrix(hidden, d))
    feed = FeedForward(inner, activation, outer)
    if rng.random() < 0.4:
        feed = GatedFeedForward(Affine(matrix(d, hidden)), activation, inner, outer)
    readout = (*norm(), Affine(matrix(d, symbols), rng.normal(size=symbols) if rng.random() < 0.5 else None))
    branches = ((*norm(), feed),) if rng.random() < 0.8 else ()
    return StepModel((tokens + places[:, None]) * rng.choice([0.5, 1.0, 2.0]), norm(), layers, branches, readout)


def copying_model(length: int, symbols: int, sharpness: float = 12.0) -> StepModel:
    """A model that copies a word of the length: the query at position length + j − 1 looks at position j."""
    positions = 2 * length
    d = symbols + positions
    embedding = np.zeros((positions, symbols, d))
    for place in range(positions):
        for symbol in range(symbols):
            embedding[place, symbol, [symbol, symbols + place]] = 1.0
    query = np.zeros((d, positions))
    for step in range(length):
        query[symbols + length + step - 1, step] = sharpness
    key = np.vstack([np.zeros((symbols, positions)), np.eye(positions)])
    value = np.vstack([np.eye(symbols), np.zeros((positions, symbols))])
    readout = np.vstack([np.eye(symbols), np.zeros((positions, symbols))])
    output = np.hstack([4.0 * np.eye(symbols), np.zeros((symbols, positions))])
    head = StepHead((Affine(query),), (Affine(key),), (Affine(value),), (Affine(output),))
    return StepModel(embedding, (), (head,), (), (Affine(readout),))
