"""What do norm bounds say beside a checkpoint? Those of its stand-in, and by how much they are vacuous."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from keyhole.api.bound import Bound, bound
from keyhole.api.norm_sources import NormSource
from keyhole.apps.heads.checkpoint_norms import StandInBound, stand_in_bound
from keyhole.apps.heads.fixed_query import fixed_query_layer
from keyhole.apps.heads.fixed_query_bound import FixedQueryBound, fixed_query_bound
from keyhole.apps.heads.model_source import open_checkpoint
from keyhole.apps.heads.norms import head_norms, not_covered
from keyhole.apps.heads.stand_in import STAND_IN, stand_in_profile
from keyhole.bounds import Real
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.show.answer import Show

CONTEXT = 128  # where none is given


@dataclass(frozen=True, repr=False)
class CheckpointBound(Bound):
    """The bounds of a checkpoint's stand-in, and what of the network itself no theorem covers."""

    stand_in_is: str = STAND_IN
    stand_in: StandInBound | None = None
    not_covered: tuple[str, ...] = ()

    def lines(self, show: Show) -> None:
        """Show it as any bound; then say whose bound it is."""
        super().lines(show)
        if self.stand_in is not None:
            show.line(f"{self.stand_in.sentence}.")
        show.line(STAND_IN)
        for each in self.not_covered if show.verbose else ():
            show.line(f"not covered: {each}")


def checkpoint_bound(
    source: str | Path,
    samples: Real | None,
    context: int | None = None,
    *,
    delta: Real = 0.01,
    config: str | Path | Mapping[str, Any] | None = None,
    **more: Any,
) -> CheckpointBound | FixedQueryBound:
    """Bound the gap of a checkpoint, or of its stand-in, after so many samples.

    Of one layer that reads images at [CLS], with norms that only centre, it is a bound for the network itself. Of any
    other it is one of a stand-in, which has the network's W_QK and W_OV, and a projection on a ball where the network
    has norms. `more` goes to `bound`.
    """
    if samples is None:
        raise ArgumentError("A bound of a checkpoint needs a number of samples; say how many it was trained on.")
    checkpoint = open_checkpoint(source, config=config)
    layer = None
    if len(checkpoint.layers) == 1 and checkpoint.embedding.cls is not None:
        with suppress(AssumptionError):
            layer = fixed_query_layer(checkpoint)
    if layer is not None:
        if context not in (None, layer.tokens - 1):
            raise ArgumentError(
                f"A context of {context} was given, and {source} has {layer.tokens - 1} patches; leave it out."
            )
        return fixed_query_bound(checkpoint, layer, samples, delta=delta, **more)
    length = CONTEXT if context is None else context
    norms = head_norms(checkpoint)
    profile = stand_in_profile(checkpoint, norms.trained, length + 1)
    answer = bound(NormSource(str(source), profile), samples, length, delta=delta, **more)
    known = {field.name: getattr(answer, field.name) for field in fields(Bound)}
    uncovered = tuple(f"{each.what}: {each.reason}" for each in not_covered(checkpoint))
    stated = stand_in_bound(checkpoint, norms, samples, length, delta, more.get("accepted"))
    return CheckpointBound(**known, stand_in=stated, not_covered=uncovered)
