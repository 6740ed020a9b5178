"""A family of checkpoints as a record: how it names its tensors, and how they lie.

A user describes an own architecture by such a record and hands it to `load_checkpoint`, or gives it a name by
`register_architecture`; `examples/own_architecture.py` shows one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from keyhole.errors import AssumptionError

Layout = Literal["linear", "conv1d", "per head"]
Packing = Literal["thirds", "by head"]
Names = str | tuple[str, str]  # one name with a star for weight and bias, a bare name, or weight and bias by name

LAYER_ROLES = (
    "query",
    "key",
    "value",
    "qkv",
    "output",
    "query_norm",
    "key_norm",
    "attention_norm",
    "feedforward_norm",
    "inner",
    "gate",
    "outer",
)
MODEL_ROLES = (
    "tokens",
    "positions",
    "segments",
    "features",
    "cls",
    "distillation",
    "embedding_norm",
    "widen",
    "final_norm",
    "unembedding",
)
ROLES = (*LAYER_ROLES, *MODEL_ROLES)


@dataclass(frozen=True)
class Architecture:
    """How a family names and lays out its tensors.

    `tensors` has, for each role, the name of its tensor. A star stands for `weight` and `bias`, either of which may be
    missing ("ln_1.*", "in_proj_*"); two names are those of weight and bias. `{layer}` counts from 0; `{group}` too,
    where layers share weights. What stands before every name ("bert.", "model.") is found by itself. The roles are

      of a layer    query, key, value or all three as qkv; output; query_norm, key_norm; attention_norm,
                    feedforward_norm; inner, gate, outer
      of the model  tokens, positions, segments, features, cls, distillation, embedding_norm, widen; final_norm,
                    unembedding

    A matrix lies as torch's Linear has it, (outputs, inputs); in the layout "conv1d" as (inputs, outputs); "per head"
    has queries, keys and values as (heads, d, k), outputs as (heads, k, d), and other maps as (inputs, outputs). A qkv
    is three blocks one after the other ("thirds"), or three for each head in turn ("by head").

    A number of the configuration is looked up under the names given, the first that is there.
    """

    name: str
    tensors: Mapping[str, Names]
    model_types: tuple[str, ...] = ()  # of config.json
    layout: Layout = "linear"
    feedforward_layout: Layout | None = None  # where it is another than that of attention
    packing: Packing = "thirds"
    heads: tuple[str, ...] = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead", "heads")
    key_value_heads: tuple[str, ...] = ("num_key_value_heads", "n_key_value_heads", "n_kv_heads")
    norm: str = "layer"  # or "rms", "centred", "batch"
    epsilon: tuple[str, ...] = ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps", "norm_epsilon")
    default_epsilon: float = 1e-5
    placement: str | None = "pre"  # or "post"; None: the configuration's norm_first says it
    positions: str = "learned"  # or "rotary", "none", "unknown"
    position_offset: int = 0  # the row of the first token in the position table
    activation: str | None = None  # where no configuration says it
    activations: tuple[str, ...] = ("hidden_act", "activation_function", "hidden_activation", "activation", "act_fn")
    causal: bool | None = False
    parallel: bool = False
    tied: bool = False  # without an unembedding of its own the token table is it
    shared_layers: tuple[str, str] | None = None  # numbers of layers and of sets of weights that they share
    unused: Mapping[str, str] = field(default_factory=dict)  # part of a name → why such a tensor is not used
    refuse: Mapping[str, tuple[Any, str]] = field(default_factory=dict)  # setting → the value that fits, and why

    def __post_init__(self) -> None:
        unknown = sorted(set(self.tensors) - set(ROLES))
        if unknown:
            raise AssumptionError(
                f"The architecture {self.name!r} gives a name to {unknown[0]!r}; the roles are {', '.join(ROLES)}."
            )
        attends = {"qkv", "output"} <= set(self.tensors) or {"query", "key", "value", "output"} <= set(self.tensors)
        if not attends:
            raise AssumptionError(
                f"The architecture {self.name!r} does not say where queries, keys, values and outputs are; give "
                "query, key, value and output, or qkv and output."
            )

    def names(self, role: str, layer: int = 0) -> tuple[str, str | None]:
        """The names of a role's weight and bias in a layer; no bias for a bare name.

        >>> Architecture("a", {"qkv": "h.{layer}.c_attn.*", "output": "h.{layer}.c_proj.*"}).names("qkv", 3)
        ('h.3.c_attn.weight', 'h.3.c_attn.bias')
        """
        patterns = self.tensors[role]
        weight, bias = (
            patterns
            if isinstance(patterns, tuple)
            else (patterns.replace("*", "weight"), patterns.replace("*", "bias"))
        )
        named = [each.replace("{layer}", str(layer)).replace("{group}", str(layer)) for each in (weight, bias)]
        return named[0], None if named[0] == named[1] else named[1]

    @property
    def layer_roles(self) -> tuple[str, ...]:
        """The roles it has in every layer."""
        return tuple(role for role in LAYER_ROLES if role in self.tensors)

    @property
    def numbered(self) -> bool:
        """Whether its layers have numbers; otherwise there is one."""
        return self.names(self.layer_roles[0], 0) != self.names(self.layer_roles[0], 1)


_REGISTERED: dict[str, Architecture] = {}


def register_architecture(architecture: Architecture) -> None:
    """Make an architecture known by its name, by its model types, and by the names of its tensors."""
    _REGISTERED[architecture.name] = architecture


def registered() -> tuple[Architecture, ...]:
    """All that are known, in the order they became so."""
    return tuple(_REGISTERED.values())
