"""What a configuration says of a model: which norms, activation, positions and wiring, and what is refused."""

from collections.abc import Mapping
from math import inf, sqrt
from typing import Any

from keyhole.checkpoints.architectures.placing import Placed, agreed, whole_number
from keyhole.checkpoints.checkpoint import PositionCode
from keyhole.errors import CheckpointError

NORM_KINDS = {"layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm", "centred": "centring"}
ACTIVATIONS = {  # as configurations spell them → one name for each function
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_fast",  # with √(2/π) cut off after ten digits
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
NORMS = {"LN": "layer", "LNPre": "layer", "RMS": "rms", "RMSPre": "rms"}  # of TransformerLens
WITHOUT_GAIN = ("LNPre", "RMSPre")  # norms whose gain was folded into the maps after them
CODES = {"standard": "learned", "rotary": "rotary"}  # of TransformerLens
NORM = "norm"  # how a configuration of nobody's library names the kind of norm


def require_settings(placed: Placed) -> None:
    """Refuse a configuration with a setting that changes the model beyond what the architecture says."""
    for setting, (fits, why) in placed.architecture.refuse.items():
        if setting in placed.files.config and (value := placed.files.config[setting]) not in _options(fits):
            raise CheckpointError(
                f"{placed.files.source!r} has {setting} = {repr(value)[:40]}, and {why}; it is not read."
            )
    kind = placed.files.config.get(NORM, placed.architecture.norm)
    if NORM in placed.architecture.norms and kind not in tuple(NORM_KINDS):  # a list has no hash
        raise CheckpointError(
            f"{placed.files.source!r}: the norm is {repr(kind)[:40]}; it must be one of {', '.join(NORM_KINDS)}."
        )


def _options(fits: Any) -> tuple[Any, ...]:
    """The values that fit a setting."""
    return fits if isinstance(fits, tuple) else (fits,)


def norm_of(placed: Placed) -> str:
    """The kind of the norms."""
    config, how = placed.files.config, placed.architecture
    kind = config.get(NORM) if NORM in how.norms else None
    if kind is None and "normalization_type" in how.norms:
        kind = NORMS.get(str(config.get("normalization_type")))
    return how.norm if kind is None else str(kind)


def epsilon_of(placed: Placed) -> float:
    """What norms add to a variance: the field that the family reads, whatever its number."""
    stated = agreed(placed.files.config, placed.architecture.epsilon)
    if stated is None:
        return placed.architecture.default_epsilon
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated < inf:  # refuses NaN too
        raise CheckpointError(
            f"{placed.files.source!r} adds {repr(stated)[:40]} to the variance in its norms; give a number ≥ 0 as "
            f"{placed.architecture.epsilon[0]}."
        )
    return float(stated)


def scale_of(placed: Placed, head_width: int) -> float:
    """What scores are multiplied by: 1/√k, or one over the configuration's number (TransformerLens: −1 means √k)."""
    stated = agreed(placed.files.config, placed.architecture.scale)
    if stated is None or stated == -1:
        return 1 / sqrt(head_width)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 < stated < inf:
        raise CheckpointError(
            f"{placed.files.source!r} divides scores by {repr(stated)[:40]}; give a number > 0 as "
            f"{placed.architecture.scale[0]}."
        )
    return 1 / float(stated)


def stored_layers(placed: Placed) -> tuple[int, ...]:
    """Which set of weights each layer has."""
    sets, shared = len(placed.layers), placed.architecture.shared_layers
    if shared is None:
        return tuple(range(sets))
    layers = whole_number(placed.files.config, shared[:1])
    if layers is None or layers % sets:
        raise CheckpointError(
            f"{placed.files.source!r} has {sets} sets of weights that layers share, and its configuration does not say "
            f"how many layers there are ({shared[0]}); give it."
        )
    return tuple(index * sets // layers for index in range(layers))


def activation_of(placed: Placed) -> str | None:
    """The activation by one name for each function, or as the configuration spells it where it is none of ours."""
    stated = agreed(placed.files.config, placed.architecture.activations)
    stated = placed.architecture.activation if stated is None else str(stated)
    return None if stated is None else ACTIVATIONS.get(stated, stated)


def placement_of(placed: Placed) -> str | None:
    """Norms before their part or after its addition."""
    first = placed.files.config.get("norm_first")
    if placed.architecture.placement is None and isinstance(first, bool):
        return "pre" if first else "post"
    return placed.architecture.placement


def causal_of(placed: Placed) -> bool | None:
    """Whether a row sees only those before it; None where neither the family nor the file says it."""
    stated = placed.files.config.get("attention_dir", placed.files.config.get("causal"))
    if placed.architecture.causal is None and stated is not None:
        return stated in ("causal", True)
    return placed.architecture.causal


def positions_of(placed: Placed) -> PositionCode:
    """How the model knows positions."""
    config = placed.files.config
    kind = CODES.get(str(config.get("positional_embedding_type")), placed.architecture.positions)
    if kind != "rotary":
        return PositionCode(kind)
    stated = config.get("rope_parameters")
    rope = stated if isinstance(stated, Mapping) else {}
    base = rope.get("rope_theta", config.get("rope_theta", config.get("rotary_base", 10000.0)))
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    scaling = rope.get("rope_type", "default") != "default" or config.get("rope_scaling") is not None
    if not all(isinstance(each, int | float) and each > 0 for each in (base, share)):
        raise CheckpointError(
            f"{placed.files.source!r} has no number for the base of its rotary positions; give rope_theta."
        )
    return PositionCode("rotary", float(base), float(share), scaled=bool(scaling))
