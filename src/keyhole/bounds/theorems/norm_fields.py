"""The norms of a profile by name: list them, read one, turn one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from keyhole.norm_profile import NormProfile

TRAINED = {"positions11": "‖P‖₁₁", "embedding11": "‖E‖₁₁"}  # tables that theorems about vectors pay for


class Dial(NamedTuple):
    """One number of a profile: the way to it, and the name people use."""

    way: tuple[str | int, ...]
    label: str

    def read(self, profile: NormProfile) -> float:
        """The number."""
        part: Any = profile
        for key in self.way:
            part = part[key] if isinstance(key, int) else getattr(part, key)
        return float(part)

    def turn(self, profile: NormProfile, value: float) -> NormProfile:
        """The profile with this number replaced, the others untouched."""
        turned: NormProfile = _replaced(profile, self.way, value)
        return turned


def _replaced(record: Any, way: tuple[str | int, ...], value: float) -> Any:
    if not way:
        return value
    key, rest = way[0], way[1:]
    if isinstance(key, int):
        return (*record[:key], _replaced(record[key], rest, value), *record[key + 1 :])
    return replace(record, **{key: _replaced(getattr(record, key), rest, value)})


Way = tuple[str, ...]
QUERY: Way = ("query",)
RADII = {"token_radius": "B_X", "query_radius": "B_Z", "token_diameter": "D_X"}
SPECTRAL: dict[Way, str] = {("score", "spectral"): "‖M‖₂"}
HEAD: dict[Way, str] = {
    ("score", "frobenius"): "‖M‖_F",
    ("value", "spectral"): "‖W_V‖₂",
    ("value", "columns21"): "‖W_V‖₂₁",
}


def dials(
    profile: NormProfile,
    plain: Mapping[str, str],
    heads: Mapping[Way, str] = MappingProxyType({}),
    outputs: tuple[str, ...] = (),
) -> list[Dial]:
    """List numbers of the profile, then those of every head, then those of every output matrix, where there are any."""
    turned = [Dial((name,), label) for name, label in plain.items() if getattr(profile, name) is not None]
    ends = []
    for b, block in enumerate(profile.blocks):
        layer = f" of layer {b + 1}" if len(profile.blocks) > 1 else ""
        for h, head in enumerate(block.heads):
            where = layer + (f", head {h + 1}" if len(block.heads) > 1 else "")
            given = {way: label for way, label in heads.items() if way != QUERY or head.query is not None}
            turned += [Dial(("blocks", b, "heads", h, *way), label + where) for way, label in given.items()]
        if block.output is not None:
            names = {"spectral": "‖W_C‖₂", "columns21": "‖W_C‖₂₁"}
            ends += [Dial(("blocks", b, "output", norm), names[norm] + layer) for norm in outputs]
    return turned + ends


def scalar_dials(profile: NormProfile) -> list[Dial]:
    """List those that Theorems S and M and Corollary E read."""
    paid = profile.positions11 is not None or profile.embedding11 is not None
    heads = {**HEAD, QUERY: "‖q‖", **(SPECTRAL if paid else {})}
    return dials(profile, {"readout": "‖w‖₂", **RADII, **TRAINED}, heads, ("spectral",))


MATRIX_NORMS = {"spectral": "₂", "frobenius": "_F", "columns21": "₂₁", "rows21": "ᵀ₂₁", "entries11": "₁₁"}


def rival_dials(score: str, value: str) -> Callable[[NormProfile], list[Dial]]:
    """List those of a rival that takes these norms of the score and value matrices, and what Theorem S reads."""
    read = [("score", "M", "spectral"), ("score", "M", score), ("value", "W_V", "spectral"), ("value", "W_V", value)]
    heads: dict[Way, str] = {(part, name): f"‖{m}‖{MATRIX_NORMS[name]}" for part, m, name in read}
    plain = {"readout": "‖w‖₂", **RADII, **TRAINED}
    return lambda profile: dials(profile, plain, heads, ("spectral", "columns21"))
