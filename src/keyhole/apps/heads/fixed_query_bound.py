"""What do norms guarantee of a one-layer network that reads images at [CLS]? A bound for the network itself."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import floor, log
from typing import Any

from keyhole.api.bound import Bound, FiniteBound, bound
from keyhole.api.norm_sources import NormSource
from keyhole.apps.heads.fixed_query import FixedQueryLayer, fixed_query_profile
from keyhole.bounds import Guarantee, Real, agnostic_error, failure, guarantee, kept_share, sample_size
from keyhole.checkpoints import Checkpoint
from keyhole.decimals import at_least, at_most, brief, surely
from keyhole.errors import AssumptionError
from keyhole.show.answer import Show

BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}
IS = (
    "A bound for this network: its norms only centre rows, and its query at [CLS] is one fixed vector, so all but "
    "softmax and units is affine, and the model is of the kind that Theorem P speaks of, in coordinates that were "
    "fixed before the data (pixels, position, 1). It is of the difference of two classes' logits, clipped to [−1, 1]."
)
CONTINUOUS = (
    "Theorems T and L read tables over a finite alphabet, and pixels are continuous: they do not apply. Theorems S and "
    "D have no place for units with an inner matrix and constants."
)


@dataclass(frozen=True, repr=False)
class FixedQueryBound(Bound):
    """The bounds of a one-layer network read at [CLS], and what would have to shrink for them to say something."""

    bound_is: str = IS
    path: float = 0.0
    token_radius: float = 0.0
    query: float = 0.0
    numbers: int = 0
    bits: int = 32
    shrink: str = ""

    def lines(self, show: Show) -> None:
        """Show it as any bound; then say whose bound it is, and what would have to shrink."""
        super().lines(show)
        show.line(self.shrink)
        show.line("A bound for this network itself, in coordinates that were fixed before the data.")
        if show.verbose:
            show.line(IS)
            show.line(
                f"Of all pairs of classes the largest path norm is P = {at_most(self.path)}, with pixels in units of a "
                f"patch's largest norm; tokens have norm at most {at_most(self.token_radius)}, queries "
                f"{at_most(self.query)}."
            )
            show.line(CONTINUOUS)


def fixed_query_bound(
    checkpoint: Checkpoint, layer: FixedQueryLayer, samples: Real, *, delta: Real = 0.01, **more: Any
) -> FixedQueryBound:
    """Bound the gap of a one-layer network after so many samples; trained norms are paid for.

    The pixels, from 0 to 1, are scaled by image_mean and image_std of the settings. `more` goes to `bound`.
    """
    low, high = _range(checkpoint)
    profile = fixed_query_profile(layer, low, high)
    source = NormSource(checkpoint.source, profile, measured=True)
    answer = bound(source, samples, delta=delta, **more)
    query = max(head.query or 0.0 for head in profile.blocks[0].heads)
    bits = max((BITS.get(each, 64) for each in checkpoint.number_formats), default=64)
    chance = failure(delta) * kept_share(more.get("accepted"))
    nats = bits * layer.numbers * log(2) + log(1 / chance)
    value = agnostic_error(nats, sample_size(samples))
    occam = (
        f"Occam: gap of the error of every setting of {layer.numbers:,} numbers of {bits} bits, with probability ≥ "
        f"{surely(float(delta))}, at most"
    )
    known = {field.name: getattr(answer, field.name) for field in fields(Bound)}
    path = next(each.theorem for each in answer.guarantees if each.route == "path")
    stated = guarantee(path, profile, sample_size(samples), delta=failure(delta), spent=chance)
    return FixedQueryBound(
        **{**known, "finite_classes": (FiniteBound(occam, value),)},
        path=float(profile.path or 0.0),
        token_radius=profile.token_radius,
        query=query,
        numbers=layer.numbers,
        bits=bits,
        shrink=_shrink(stated, layer.numbers, bits, value),
    )


def _range(checkpoint: Checkpoint) -> tuple[float, float]:
    """Return the least and the largest number that a pixel becomes."""
    parts = []
    for name in ("image_mean", "image_std"):
        stated = checkpoint.config.get(name)
        values: list[Any] = stated if isinstance(stated, list) else [stated]
        if not values or not all(type(value) in (int, float) for value in values):
            raise AssumptionError(
                f"{checkpoint.source} reads pixels, and no setting says how they are scaled, so that nothing bounds "
                "its tokens; give image_mean and image_std (of pixels from 0 to 1)."
            )
        parts.append([float(value) for value in values])
    means, deviations = parts
    if len(means) != len(deviations) or min(deviations) <= 0:
        raise AssumptionError(f"image_mean {means} and image_std {deviations} do not fit together; give one of each.")
    ends = [(side - mean) / deviation for mean, deviation in zip(means, deviations, strict=True) for side in (0, 1)]
    return min(ends), max(ends)


def _shrink(stated: Guarantee, numbers: int, bits: int, occam: float) -> str:
    """Say by how much the path norm and the description would have to shrink, norms counting as fixed beforehand."""
    samples, sentences = stated.samples, []
    if stated.vacuous:
        path = float(stated.profile.path or 0.0)
        factor = _largest(lambda share: not stated.again(profile=replace(stated.profile, path=share * path)).vacuous)
        block = stated.profile.blocks[0]
        uniform = replace(block, heads=tuple(replace(head, query=0.0) for head in block.heads))
        silent = stated.again(profile=replace(stated.profile, blocks=(uniform,)))
        said = (
            f"it would have to be at most {at_least(factor * path)}, 1/{brief(round(1 / factor))} of what it is"
            if factor
            else "no path norm down to a billionth of it would do"
        )
        sentences.append(
            f"What would have to shrink: for Theorem P to say anything at m = {brief(samples)}, P: {said}."
        )
        end = "is vacuous too" if silent.vacuous else "says something"
        sentences.append(
            f"With all queries 0 (every head uniform) and P as it is, it {end} (gap ≤ {at_most(silent.value)}). Norms "
            "count here as if they had been fixed before the data."
        )
    if occam >= 1:
        room = (2 * samples - log(1 / stated.delta_spent)) / log(2)  # bits of a description with a gap of 1
        fewer = floor(10 * room / numbers) / 10
        sentences.append(
            f"The count of descriptions says something below {fewer:g} bits a number, where these have {bits}, or for "
            f"a network of fewer than {floor(room / bits):,} numbers of {bits} bits."
        )
    return " ".join(sentences)


def _largest(fits: Callable[[float], bool]) -> float:
    """Return the largest share of a norm, down to a billionth, with which a bound is not vacuous, or 0."""
    if not fits(1e-9):
        return 0.0
    low, high = 1e-9, 1.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
