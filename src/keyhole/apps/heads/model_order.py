"""Is a model exchangeable? Rows moved with their positions, without them, and before a row that stays."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.api.opening import Source, array_of, open_checkpoint, tokens_of_bits
from keyhole.apps.heads.head_data import image_rows, require_one_kind, text_pieces
from keyhole.apps.heads.order import OrderReport, order_of_rows, order_of_tokens
from keyhole.apps.heads.show_model_order import model_order_document
from keyhole.checkpoints import Architecture, Checkpoint, prepare
from keyhole.errors import ArgumentError, DataError
from keyhole.show.document import Document

MOST = 200  # inputs: each is run several times in double precision
NO_TEXT = (
    "of real text no exact posterior is known, so that only this can be tested, and not whether it infers a latent"
)


@dataclass(frozen=True, repr=False, eq=False)
class ModelOrder(Result):
    """What moving the rows of some inputs does to a model."""

    schema: ClassVar[str] = "model-order/1"

    checkpoint: Checkpoint
    data: str
    report: OrderReport
    context: int | None
    seed: int

    @property
    def exchangeable(self) -> bool | None:
        """Whether its rows move with their (row, position) pairs; None where the file does not say enough."""
        return self.report.exchangeable

    @property
    def summary(self) -> str:
        """The answer, and of what."""
        return f"{self.checkpoint.source} on {self.data}: {self.report.verdict}"

    def document(self) -> Document:
        """The answer, then a line per question."""
        return model_order_document(self.record())

    def record(self) -> dict[str, Any]:
        """The facts as plain values, for JSON."""
        return {
            "source": self.checkpoint.source,
            "architecture": self.checkpoint.architecture,
            "positions": self.checkpoint.positions.kind,
            "causal": self.checkpoint.causal,
            "data": self.data,
            **asdict(self.report),
            "exchangeable": self.exchangeable,
            "ignores_order": self.report.ignores_order,
            "context": self.context,
            "seed": self.seed,
            "not_tested": NO_TEXT,
        }


def model_order(
    source: Source,
    *,
    text: str | Path | Sequence[str] | None = None,
    images: str | Path | np.ndarray | None = None,
    rows: str | Path | np.ndarray | None = None,
    architecture: Architecture | str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    context: int | None = None,
    longest: int = 128,
    seed: int = 0,
) -> ModelOrder:
    """Whether a model is exchangeable, on up to 200 inputs of data as `heads` takes them, in double precision.

    Encoders must be equivariant to rounding when rows move with their positions; causal and rotary models are reported
    as not exchangeable. `context` says that rows after so many see only those before, as in prior-fitted networks; the
    question is then whether they change when the context is reordered. Without it, it is asked of the last row.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> arrays = {f"layers.0.0.module.W_{name}": rng.normal(size=(2, 4, 3)) for name in ("query", "key", "val")}
    >>> arrays |= {"layers.0.0.module.W_out": rng.normal(size=(2, 3, 4)), "init_embed.weight": rng.normal(size=(4, 2))}
    >>> model_order(arrays, rows=rng.random((5, 8, 2))).report.verdict
    'equivariant to rounding'
    """
    require_one_kind(text=text, images=images, rows=rows)
    if seed < 0:
        raise ArgumentError(f"The seed {seed} was given; a seed is at least 0.")
    checkpoint = open_checkpoint(source, architecture=architecture, config=config)
    model = prepare(checkpoint)
    if text is not None:
        pieces = [each.tokens for each in text_pieces(model, text, longest)[0] if len(each) >= 4][:MOST]
        if not pieces:
            raise DataError("No text has four tokens, those that the tokenizer adds included; give longer ones.")
        report = order_of_tokens(model, pieces, context=context, seed=seed)
    elif images is not None:
        report = order_of_rows(model, image_rows(model, images)[:MOST], context=context, seed=seed)
    else:
        array = array_of(rows, "rows")
        if array.ndim == 2 and array.dtype.kind in "iub":
            bits = tokens_of_bits(source, array)
            tokens = (array if bits is None else bits)[:MOST]
            report = order_of_tokens(model, list(tokens), context=context, seed=seed)
        elif array.dtype.kind in "fiu":
            report = order_of_rows(model, array[:MOST].astype(np.float64), context=context, seed=seed)
        else:
            raise DataError(f"Rows of kind {array.dtype} were given; give numbers (inputs, T, features), or tokens.")
    return ModelOrder(checkpoint, f"{report.inputs} inputs", report, context, seed)
