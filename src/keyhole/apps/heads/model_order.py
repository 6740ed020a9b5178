"""Is a model exchangeable? Rows moved with their positions, without them, and before a row that stays."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.heads.head_data import Data, Images, Text, image_rows, opened, text_pieces
from keyhole.apps.heads.model_source import Source, array_of, tokens_of_bits
from keyhole.apps.heads.order import OrderReport, order_of_rows, order_of_tokens
from keyhole.checkpoints import Checkpoint, Prepared, prepare
from keyhole.errors import DataError
from keyhole.show.answer import Show

MOST = 200  # inputs: each is run several times in double precision
NO_TEXT = (
    "of real text no exact posterior is known, so that only this can be tested, and not whether it infers a latent"
)
PLACES = {"none": "nothing", "learned": "a table of positions"}


@dataclass(frozen=True, repr=False)
class ModelOrder(Result):
    """The effect of moving the rows of some inputs on a model; the numbers are those of an `OrderReport`."""

    schema: ClassVar[str] = "model-order/1"
    properties: ClassVar[tuple[str, ...]] = ("not_tested",)
    not_tested: ClassVar[str] = NO_TEXT

    source: str
    architecture: str
    positions: str
    causal: bool | None
    data: str
    verdict: str
    moved_together: float | None
    moved_alone: float | None
    moved_context: float | None
    inputs: int
    exchangeable: bool | None  # None: the file does not say enough
    ignores_order: bool
    context: int | None
    seed: int

    @property
    def answer_is_no(self) -> bool:
        """Return whether the model is not exchangeable."""
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


def model_order(source: Source | Checkpoint, data: Data, *, context: int | None = None, seed: int = 0) -> ModelOrder:
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
    model = prepare(opened(source))
    report = _report(model, data, context, seed)
    return ModelOrder(
        source=model.checkpoint.source,
        architecture=model.checkpoint.architecture,
        positions=model.checkpoint.positions.kind,
        causal=model.checkpoint.causal,
        data=f"{report.inputs} inputs",
        verdict=report.verdict,
        moved_together=report.moved_together,
        moved_alone=report.moved_alone,
        moved_context=report.moved_context,
        inputs=report.inputs,
        exchangeable=report.exchangeable,
        ignores_order=report.ignores_order,
        context=context,
        seed=seed,
    )


def _report(model: Prepared, data: Data, context: int | None, seed: int) -> OrderReport:
    if isinstance(data, Text):
        pieces = [each.tokens for each in text_pieces(model, data)[0] if len(each) >= 4][:MOST]
        if not pieces:
            raise DataError("No text has four tokens, those that the tokenizer adds included; give longer ones.")
        return order_of_tokens(model, pieces, context=context, seed=seed)
    if isinstance(data, Images):
        return order_of_rows(model, image_rows(model, data)[:MOST], context=context, seed=seed)
    array = array_of(data.array, "rows")
    if array.ndim == 2 and array.dtype.kind in "iub":
        bits = tokens_of_bits(model.checkpoint.source, array)
        return order_of_tokens(model, list((array if bits is None else bits)[:MOST]), context=context, seed=seed)
    if array.dtype.kind not in "fiu":
        raise DataError(f"Rows of kind {array.dtype} were given; give numbers (inputs, T, features), or tokens.")
    return order_of_rows(model, array[:MOST].astype(np.float64), context=context, seed=seed)


def _number(value: float | None, what: str) -> str:
    return "not asked of such a model" if value is None else f"{value:.3g} ({what})"
