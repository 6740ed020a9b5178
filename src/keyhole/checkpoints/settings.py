"""The settings of a configuration: which norms, activation, positions and wiring a model has, and what is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from keyhole.checkpoints.checkpoint import PositionCode
from keyhole.checkpoints.placing import Placed, agreed, whole_number
from keyhole.errors import CheckpointError

NORM_KINDS = ("layer", "rms", "batch", "centred")
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


@dataclass(frozen=True)
class Settings:
    """The settings of a model: those of its configuration, and else those of its family."""

    norm: str
    folded: bool  # norms have no gain of their own
    epsilon: float  # added to a variance
    divisor: float | None  # of scores; None: √k
    stored_layers: tuple[int, ...]  # which set of weights each layer has
    activation: str | None  # as the configuration spells it where it is none of ours; None: nothing says it
    placement: str | None  # "pre" or "post"; None: nothing says it
    causal: bool | None  # a row sees only those before it; None: nothing says it
    positions: PositionCode


def settings_of(placed: Placed) -> Settings:
    """Return the settings; refuse one that changes the model beyond what the architecture says."""
    how, config, source = placed.architecture, placed.files.config, repr(placed.files.source)
    for setting, (fits, why) in how.refuse.items():
        if setting in config and config[setting] not in (fits if isinstance(fits, tuple) else (fits,)):
            raise CheckpointError(f"{source} has {setting} = {repr(config[setting])[:40]}, and {why}; it is not read.")
    norm, folded = _norm(placed)
    activation = agreed(config, how.fields.activations)
    activation = how.activation if activation is None else str(activation)
    placement, causal = how.placement, how.causal
    if placement is None and isinstance(config.get("norm_first"), bool):
        placement = "pre" if config["norm_first"] else "post"
    direction = config.get("attention_dir", config.get("causal"))
    if causal is None and direction is not None:
        causal = direction in ("causal", True)
    epsilon, divisor = agreed(config, how.fields.epsilon), agreed(config, how.fields.scale)
    if epsilon is not None and not _is_size(epsilon):
        raise CheckpointError(
            f"{source} adds {repr(epsilon)[:40]} to the variance in its norms; give a number ≥ 0 as "
            f"{how.fields.epsilon[0]}."
        )
    divisor = None if divisor == -1 else divisor  # TransformerLens: √k
    if divisor is not None and not (_is_size(divisor) and divisor > 0):
        raise CheckpointError(
            f"{source} divides scores by {repr(divisor)[:40]}; give a number > 0 as {how.fields.scale[0]}."
        )
    sets = layers = len(placed.layers)
    if how.shared_layers is not None:
        layers = whole_number(config, how.shared_layers[:1]) or 0
        if not layers or layers % sets:
            raise CheckpointError(
                f"{source} has {sets} sets of weights that layers share, and its configuration does not say how many "
                f"layers there are ({how.shared_layers[0]}); give it."
            )
    return Settings(
        norm=norm,
        folded=folded,
        epsilon=how.default_epsilon if epsilon is None else float(epsilon),
        divisor=None if divisor is None else float(divisor),
        stored_layers=tuple(index * sets // layers for index in range(layers)),
        activation=None if activation is None else ACTIVATIONS.get(activation, activation),
        placement=placement,
        causal=causal,
        positions=_positions(placed),
    )


def _is_size(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < inf  # refuses NaN too


def _norm(placed: Placed) -> tuple[str, bool]:
    """Return the kind of the norms, and whether their gain was folded into the maps after them."""
    config, how = placed.files.config, placed.architecture
    kind = config.get(NORM, how.norm) if NORM in how.fields.norms else how.norm
    if kind not in NORM_KINDS:
        raise CheckpointError(
            f"{placed.files.source!r}: the norm is {repr(kind)[:40]}; it must be one of {', '.join(NORM_KINDS)}."
        )
    if "normalization_type" not in how.fields.norms:
        return str(kind), False
    stated = config.get("normalization_type")
    own = NORM in how.fields.norms and config.get(NORM) is not None
    return str(kind) if own else NORMS.get(str(stated), how.norm), stated in WITHOUT_GAIN


def _positions(placed: Placed) -> PositionCode:
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
