"""The norms of a profile by name: list them, read one, turn one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile

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


def _plain(profile: NormProfile, **labels: str) -> list[Dial]:
    return [Dial((name,), label) for name, label in labels.items() if getattr(profile, name) is not None]


def _of_heads(profile: NormProfile, pick: Callable[[HeadNorms], dict[tuple[str, ...], str]]) -> list[Dial]:
    dials = []
    for b, block in enumerate(profile.blocks):
        for h, head in enumerate(block.heads):
            where = _where(profile, block, b, h)
            for way, label in pick(head).items():
                dials.append(Dial(("blocks", b, "heads", h, *way), label + where))
    return dials


def _where(profile: NormProfile, block: BlockNorms, b: int, h: int) -> str:
    layer = f" of layer {b + 1}" if len(profile.blocks) > 1 else ""
    return layer + (f", head {h + 1}" if len(block.heads) > 1 else "")


def _of_outputs(profile: NormProfile, *, with_sum: bool) -> list[Dial]:
    dials = []
    for b, block in enumerate(profile.blocks):
        if block.output is not None:
            layer = f" of layer {b + 1}" if len(profile.blocks) > 1 else ""
            dials.append(Dial(("blocks", b, "output", "spectral"), "‖W_C‖₂" + layer))
            if with_sum:
                dials.append(Dial(("blocks", b, "output", "columns21"), "‖W_C‖₂₁" + layer))
    return dials


def tabulated_dials(profile: NormProfile) -> list[Dial]:
    """What Theorem T reads, and Theorem L under any law."""
    return _plain(profile, path_inf="P_∞", spread="the spread R")


def product_list_dials(profile: NormProfile) -> list[Dial]:
    """What Theorem L reads where symbols are independent: no norm of the scores."""
    return _plain(profile, path_inf="P_∞")


def path_dials(profile: NormProfile) -> list[Dial]:
    """What Theorem P reads."""

    def pick(head: HeadNorms) -> dict[tuple[str, ...], str]:
        fixed: dict[tuple[str, ...], str] = {} if head.query is None else {("query",): "‖q‖"}
        return {("score", "spectral"): "‖M‖₂", **fixed}

    radii = {"token_radius": "B_X", "query_radius": "B_Z", "token_diameter": "D_X"}
    own = _plain(profile, path="P", **radii, **TRAINED)
    return own + _of_heads(profile, pick)


def scalar_dials(profile: NormProfile) -> list[Dial]:
    """What Theorems S and M and Corollary E read."""

    def pick(head: HeadNorms) -> dict[tuple[str, ...], str]:
        fixed: dict[tuple[str, ...], str] = {} if head.query is None else {("query",): "‖q‖"}
        paid = profile.positions11 is not None or profile.embedding11 is not None
        positions: dict[tuple[str, ...], str] = {("score", "spectral"): "‖M‖₂"} if paid else {}
        return {
            ("score", "frobenius"): "‖M‖_F",
            ("value", "spectral"): "‖W_V‖₂",
            ("value", "columns21"): "‖W_V‖₂₁",
            **fixed,
            **positions,
        }

    labels = {"readout": "‖w‖₂", "token_radius": "B_X", "query_radius": "B_Z", "token_diameter": "D_X"}
    own = _plain(profile, **labels, **TRAINED)
    return own + _of_heads(profile, pick) + _of_outputs(profile, with_sum=False)


def deep_dials(profile: NormProfile) -> list[Dial]:
    """What Theorem D reads."""
    ways: dict[tuple[str, ...], str] = {
        ("score", "frobenius"): "‖M‖_F",
        ("score", "spectral"): "‖M‖₂",
        ("value", "spectral"): "‖W_V‖₂",
        ("value", "columns21"): "‖W_V‖₂₁",
    }
    own = _plain(profile, readout="‖w‖₂", token_radius="B_X", **TRAINED)  # noqa: S106
    return own + _of_heads(profile, lambda _: ways) + _of_outputs(profile, with_sum=True)


MATRIX_NORMS = {"spectral": "₂", "frobenius": "_F", "columns21": "₂₁", "rows21": "ᵀ₂₁", "entries11": "₁₁"}


def rival_dials(score: str, value: str) -> Callable[[NormProfile], list[Dial]]:
    """What a rival reads that takes these norms of the score and value matrices, beside what Theorem S reads."""
    read = [("score", "M", "spectral"), ("score", "M", score), ("value", "W_V", "spectral"), ("value", "W_V", value)]
    ways: dict[tuple[str, ...], str] = {(part, name): f"‖{m}‖{MATRIX_NORMS[name]}" for part, m, name in read}

    def dials(profile: NormProfile) -> list[Dial]:
        labels = {"readout": "‖w‖₂", "token_radius": "B_X", "query_radius": "B_Z", "token_diameter": "D_X"}
        own = _plain(profile, **labels, **TRAINED)
        return own + _of_heads(profile, lambda _: ways) + _of_outputs(profile, with_sum=True)

    return dials
