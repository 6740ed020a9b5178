"""Is a model exchangeable? Rows moved with their positions, without them, and before a row that stays.

That an encoder's last rows move with its (token, position) pairs is a property of the architecture, and says nothing
of data: it tests that the model was read right. How far the last rows change when tokens move and positions stay says
how much the order matters to this model. The third question is that of models which predict from a context, such as
set encoders and prior-fitted networks: does a row that stays change when the rows before it are reordered?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.heads.head_data import Data, Images, Text, image_rows, text_pieces
from keyhole.apps.heads.model_source import Source, array_of, open_checkpoint, tokens_of_bits
from keyhole.checkpoints import Prepared, prepare
from keyhole.errors import DataError
from keyhole.show.answer import Show

MOST = 200  # inputs: each is run several times in double precision
NO_TEXT = (
    "of real text no exact posterior is known, so that only this can be tested, and not whether it infers a latent"
)
PLACES = {"none": "nothing", "learned": "a table of positions"}
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


@dataclass(frozen=True, repr=False)
class ModelOrder(OrderReport, Result):
    """The effect of moved rows on a model: a report, and what it is about."""

    schema: ClassVar[str] = "model-order/1"
    properties: ClassVar[tuple[str, ...]] = ("exchangeable", "ignores_order", "not_tested")
    not_tested: ClassVar[str] = NO_TEXT

    source: str
    architecture: str
    positions: str
    causal: bool | None
    data: str
    context: int | None
    seed: int

    @property
    def answer_is_no(self) -> bool:
        """Say whether the model is not exchangeable."""
        return self.exchangeable is False

    def lines(self, show: Show) -> None:
        """Give the answer, and a line per question."""
        stays = (
            "the last row"
            if self.context is None
            else f"a row after the context of {self.context} (it sees that alone)"
        )
        depends = "does not depend" if self.ignores_order else "depends"
        show.line(f"{self.verdict}; {stays} {depends} on the order of those before it.")
        show.facts(
            [
                ("model", f"{self.source} ({self.architecture}); {self.data}"),
                ("knows places by", PLACES.get(self.positions, self.positions)),
                ("moved with positions", _number(self.moved_together, "largest entry of the change")),
                ("moved without", _number(self.moved_alone, "mean of ‖change‖/‖row‖")),
                ("context reordered", _number(self.moved_context, f"largest ‖change‖/‖row‖ of {stays}")),
            ]
        )
        if show.verbose:
            show.line(
                "That rows move with their positions is a property of the architecture: it shows that the model was "
                f"read right, and says nothing of data. Not tested: {NO_TEXT}."
            )


def model_order(source: Source, data: Data, *, context: int | None = None, seed: int = 0) -> ModelOrder:
    """Test whether a model is exchangeable, on up to 200 inputs, in double precision.

    Encoders must be equivariant to rounding when rows move with their positions; causal and rotary models are reported
    as not exchangeable. `context` says that rows after so many see only those before, as in prior-fitted networks; the
    question is then whether they change when the context is reordered. Without it, it is asked of the last row.

    >>> import numpy as np
    >>> from keyhole.apps.heads.head_data import Rows
    >>> rng = np.random.default_rng(0)
    >>> arrays = {f"layers.0.0.module.W_{name}": rng.normal(size=(2, 4, 3)) for name in ("query", "key", "val")}
    >>> arrays |= {"layers.0.0.module.W_out": rng.normal(size=(2, 3, 4)), "init_embed.weight": rng.normal(size=(4, 2))}
    >>> model_order(arrays, Rows(rng.random((5, 8, 2)))).verdict
    'equivariant to rounding'
    """
    model = prepare(open_checkpoint(source))
    checkpoint = model.checkpoint
    if isinstance(data, Text):
        tokens = [each.tokens for each in text_pieces(model, data)[0] if len(each) >= 4][:MOST]
        if not tokens:
            raise DataError("No text has four tokens, those that the tokenizer adds included; give longer ones.")
        report = order_of_tokens(model, tokens, context=context, seed=seed)
    elif isinstance(data, Images):
        report = order_of_rows(model, image_rows(model, data)[0][:MOST], context=context, seed=seed)
    else:
        array = array_of(data.array, "rows")
        if array.ndim == 2 and array.dtype.kind in "iub":
            bits = tokens_of_bits(checkpoint.source, array)
            tokens = list((array if bits is None else bits)[:MOST])
            report = order_of_tokens(model, tokens, context=context, seed=seed)
        elif array.dtype.kind not in "fiu":
            raise DataError(f"Rows of kind {array.dtype} were given; give numbers (inputs, T, features), or tokens.")
        else:
            report = order_of_rows(model, array[:MOST].astype(np.float64), context=context, seed=seed)
    return ModelOrder(
        **vars(report),
        source=checkpoint.source,
        architecture=checkpoint.architecture,
        positions=checkpoint.positions.kind,
        causal=checkpoint.causal,
        data=f"{report.inputs} inputs",
        context=context,
        seed=seed,
    )


def _number(value: float | None, what: str) -> str:
    return "not asked of such a model" if value is None else f"{value:.3g} ({what})"


@dataclass(frozen=True, eq=False)
class _Input:
    """One input: its rows for an order of its parts, at these positions or in order; and the parts that stay."""

    embed: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
    count: int
    fixed: tuple[int, ...]  # such as [CLS]


def order_of_tokens(
    model: Prepared, texts: Sequence[np.ndarray], *, context: int | None = None, seed: int = 0
) -> OrderReport:
    """Move the tokens of each text; the first and the last stay where they are. Ask it in double precision.

    Of causal and rotary models only the third question is asked. With `context` the rows after so many are those that
    stay, and they see the context alone, as in prior-fitted networks; else the last row stays, and sees all.
    """
    for text in texts:
        if len(text) < 4:
            raise DataError(f"A text of {len(text)} tokens was given; two between the first and the last are needed.")

    def embed(text: np.ndarray, order: np.ndarray, positions: np.ndarray | None) -> np.ndarray:
        return model.embed(text[order], positions)

    inputs = [_Input(partial(embed, text), len(text), (0, len(text) - 1)) for text in texts]
    return _order(model, inputs, context, seed)


def order_of_rows(model: Prepared, inputs: np.ndarray, *, context: int | None = None, seed: int = 0) -> OrderReport:
    """Move the rows (inputs, T, features) of a model, such as points or patches; [CLS] stays. See `order_of_tokens`."""
    before = 0 if model.checkpoint.embedding.cls is None else len(model.checkpoint.embedding.cls)
    if inputs.ndim != 3 or inputs.shape[1] < 3:
        raise DataError(f"Rows of shape {inputs.shape} were given; give (inputs, T, features), three rows or more.")

    def embed(rows: np.ndarray, order: np.ndarray, positions: np.ndarray | None) -> np.ndarray:
        return model.embed_features(rows[order[before:] - before], positions)

    moved = [_Input(partial(embed, rows), before + len(rows), tuple(range(before))) for rows in inputs]
    return _order(model, moved, context, seed)


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
        plain = model.run(given.embed(same, None)[None])[0]
        if reason is None:
            order = _permuted(rng, given.count, given.fixed)
            both = model.run(given.embed(order, order)[None])[0]
            together.append(np.abs(both - plain[order]).max() / np.abs(plain).max())
            if kind != "none":
                apart = model.run(given.embed(order, None)[None])[0]
                alone.append(_change(apart, plain[order]).mean())
        length = given.count - 1 if context is None else context
        order = _permuted(rng, given.count, (*given.fixed, *range(length, given.count)))
        visible = None if context is None else (same < length)[None]
        stays = plain if visible is None else model.run(given.embed(same, None)[None], visible)[0]
        moved = model.run(given.embed(order, None)[None], visible)[0]
        before.append(_change(moved[length:], stays[length:]).max())
    context_moves = float(max(before))
    if reason is not None or not together:
        return OrderReport(reason or UNKNOWN, None, None, context_moves, len(inputs))
    if max(together) > ROUNDING:
        verdict = "not equivariant: rows moved with their positions change"
    else:
        verdict = f"equivariant to rounding{'; order matters through positions alone' if alone else ''}"
    mean = float(np.mean(alone)) if alone else None
    return OrderReport(verdict, float(max(together)), mean, context_moves, len(inputs))


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
