"""Changes of a model's last rows when rows move with their positions, without them, and before a row that stays.

That an encoder's last rows move with its (token, position) pairs is a property of the architecture, and says nothing
of data: it tests that the model was read right. How far the last rows change when tokens move and positions stay says
how much the order matters to this model. The third question is that of models which predict from a context, such as
set encoders and prior-fitted networks: does a row that stays change when the rows before it are reordered?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.checkpoints import Prepared
from keyhole.errors import DataError

ROUNDING = 1e-9  # of the largest entry: double precision through tens of layers
CAUSAL = "not exchangeable: a row sees only those before it"
ROTARY = "not exchangeable as read here: queries and keys are turned by their places"
UNKNOWN = "undecided: the file does not say how the model knows positions"


@dataclass(frozen=True)
class OrderReport:
    """The effect of moved rows on a model, over some inputs and one permutation of each.

    `moved_together` is the largest entry by which the last rows, put back into their places, differ when rows move with
    their positions, as a share of the largest entry there is. `moved_alone` is the mean over rows of ‖change‖/‖row‖
    when they move and positions stay. `moved_context` is the largest ‖change‖/‖row‖ of rows that stay behind a context
    that is reordered, positions staying. None where the question has no meaning for the model.
    """

    verdict: str
    moved_together: float | None
    moved_alone: float | None
    moved_context: float | None
    inputs: int

    @property
    def exchangeable(self) -> bool | None:
        """Return whether rows move with their (row, position) pairs; None if the file does not say enough."""
        return None if self.verdict == UNKNOWN else self.verdict.startswith("equivariant")

    @property
    def ignores_order(self) -> bool:
        """Return whether a row changes by no more than rounding when the rows before it are reordered."""
        return self.moved_context is not None and self.moved_context <= ROUNDING


@dataclass(frozen=True, eq=False)
class _Input:
    """One input: its rows for an order of its parts, with their positions or without, and which parts may move."""

    embed: Callable[[np.ndarray, bool], np.ndarray]
    count: int
    fixed: tuple[int, ...]  # rows that stay, such as [CLS]


def order_of_tokens(
    model: Prepared, texts: Sequence[np.ndarray], *, context: int | None = None, seed: int = 0
) -> OrderReport:
    """Move the tokens of each text; the first and the last stay where they are. Ask it in double precision.

    Of causal and rotary models only the third question is asked. With `context` the rows after so many are those that
    stay, and they see the context alone, as in prior-fitted networks; else the last row stays, and sees all.
    """

    def embedded(text: np.ndarray) -> Callable[[np.ndarray, bool], np.ndarray]:
        return lambda order, moved: model.embed(text[order], positions=order if moved else None)

    for text in texts:
        if len(text) < 4:
            raise DataError(f"A text of {len(text)} tokens was given; two between the first and the last are needed.")
    inputs = [_Input(embedded(text), len(text), (0, len(text) - 1)) for text in texts]
    return _order(model, inputs, context, seed)


def order_of_rows(model: Prepared, inputs: np.ndarray, *, context: int | None = None, seed: int = 0) -> OrderReport:
    """Move the rows (inputs, T, features) of a model, such as points or patches; [CLS] stays. See `order_of_tokens`."""
    before = 0 if model.checkpoint.embedding.cls is None else len(model.checkpoint.embedding.cls)

    def embedded(rows: np.ndarray) -> Callable[[np.ndarray, bool], np.ndarray]:
        def embed(order: np.ndarray, moved: bool) -> np.ndarray:  # noqa: FBT001  (one of two ways)
            return model.embed_features(rows[order[before:] - before], positions=order if moved else None)

        return embed

    if inputs.ndim != 3 or inputs.shape[1] < 3:
        raise DataError(f"Rows of shape {inputs.shape} were given; give (inputs, T, features), three rows or more.")
    made = [_Input(embedded(rows), before + len(rows), tuple(range(before))) for rows in inputs]
    return _order(model, made, context, seed)


def _order(model: Prepared, inputs: Sequence[_Input], context: int | None, seed: int) -> OrderReport:
    kind = model.checkpoint.positions.kind
    reason = CAUSAL if model.checkpoint.causal else {"rotary": ROTARY, "unknown": UNKNOWN}.get(kind)
    rng = np.random.default_rng(seed)
    together, alone, before = [], [], []
    for given in inputs:
        if context is not None and not 2 <= context < given.count:
            raise DataError(
                f"A context of {context} rows was asked for, and an input has {given.count}; give at least 2, and one "
                "row less than there are."
            )
        same = np.arange(given.count)
        plain = model.run(given.embed(same, False)[None])[0]  # noqa: FBT003
        if reason is None:
            order = _permuted(rng, given.count, given.fixed)
            both = model.run(given.embed(order, True)[None])[0]  # noqa: FBT003
            together.append(np.abs(both - plain[order]).max() / np.abs(plain).max())
            if kind != "none":
                apart = model.run(given.embed(order, False)[None])[0]  # noqa: FBT003
                alone.append(_change(apart, plain[order]).mean())
        length = given.count - 1 if context is None else context
        order = _permuted(rng, given.count, (*given.fixed, *range(length, given.count)))
        visible = None if context is None else (same < length)[None]
        stays = plain if visible is None else model.run(given.embed(same, False)[None], visible)[0]  # noqa: FBT003
        moved = model.run(given.embed(order, False)[None], visible)[0]  # noqa: FBT003
        before.append(_change(moved[length:], stays[length:]).max())
    return _report(
        reason,
        float(max(together)) if together else None,
        float(np.mean(alone)) if alone else None,
        float(max(before)),
        len(inputs),
    )


def _permuted(rng: np.random.Generator, count: int, fixed: tuple[int, ...]) -> np.ndarray:
    """Draw a permutation that leaves these places, and moves at least one of the others if there are two."""
    order = np.arange(count)
    free = np.setdiff1d(order, fixed)
    drawn = rng.permutation(free)
    if len(free) > 1 and (drawn == free).all():
        drawn = np.roll(free, 1)
    order[free] = drawn
    return order


def _change(rows: np.ndarray, plain: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(rows - plain, axis=1) / np.linalg.norm(plain, axis=1))


def _report(reason: str | None, together: float | None, alone: float | None, before: float, inputs: int) -> OrderReport:
    if reason is not None or together is None:
        return OrderReport(reason or UNKNOWN, None, None, before, inputs)
    if together > ROUNDING:
        verdict = "not equivariant: rows moved with their positions change"
    elif alone is None:
        verdict = "equivariant to rounding"
    else:
        verdict = "equivariant to rounding; order matters through positions alone"
    return OrderReport(verdict, together, alone, before, inputs)
