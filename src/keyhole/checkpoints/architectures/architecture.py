"""A family of checkpoints as a record: how it names its tensors, and how they lie.

A user describes an own architecture by such a record and hands it to `load_checkpoint`, or gives it a name by
`register_architecture`; `examples/own_architecture.py` shows one.
"""

from collections.abc import Callable, Collection, Mapping
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
class Fields:
    """The names under which a configuration has each setting; if several are there, they must agree."""

    layers: tuple[str, ...] = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth")
    heads: tuple[str, ...] = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead", "heads")
    key_value_heads: tuple[str, ...] = ("num_key_value_heads", "n_key_value_heads", "n_kv_heads")
    scale: tuple[str, ...] = ()  # what scores are divided by, where that is not √k
    norms: tuple[str, ...] = ("norm", "normalization_type")
    epsilon: tuple[str, ...] = (
        "layer_norm_eps",
        "layer_norm_epsilon",
        "rms_norm_eps",
        "norm_eps",
        "norm_epsilon",
        "eps",
    )
    activations: tuple[str, ...] = ("hidden_act", "activation_function", "hidden_activation", "activation", "act_fn")
    formats: tuple[str, ...] = ()  # of the number format that its own code rounds weights to, the first that is there

    @property
    def all(self) -> frozenset[str]:
        """Return every name."""
        return frozenset(name for names in vars(self).values() for name in names)


@dataclass(frozen=True)
class OwnCode:
    """The rules by which a family's own code loads files; a verdict is about the model that it loads."""

    # every other field that a configuration may have, and the values at which it changes nothing (None: all)
    settings: Mapping[str, tuple[Any, ...] | None]
    parts: Callable[[Mapping[str, Any]], Collection[str]]  # the roles that must be there, no others
    prefixes: tuple[str, ...] = ("",)  # what it takes off or puts before names
    classes: tuple[str, ...] = ()  # what `architectures` of its configuration may name
    default_format: str | None = None  # of numbers where no field says it; None: that of the file


@dataclass(frozen=True)
class Architecture:
    """The names and layout of a family's tensors.

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

    A family that verdicts are given of has `own_code`: what is neither read nor listed there leaves a doubt
    (`doubts`). Without it an architecture is taken as it is described.
    """

    name: str
    tensors: Mapping[str, Names]
    model_types: tuple[str, ...] = ()  # of config.json
    layout: Layout = "linear"
    feedforward_layout: Layout | None = None  # where it is another than that of attention
    packing: Packing = "thirds"
    fields: Fields = Fields()
    norm: str = "layer"  # or "rms", "centred", "batch"
    default_epsilon: float = 1e-5
    placement: str | None = "pre"  # or "post"; None: the configuration's norm_first says it
    positions: str = "learned"  # or "rotary", "none", "unknown"
    position_offset: int = 0  # the row of the first token in the position table
    activation: str | None = None  # where no configuration says it
    causal: bool | None = False
    parallel: bool = False
    tied: bool = False  # without an unembedding of its own the token table is it
    shared_layers: tuple[str, str] | None = None  # numbers of layers and of sets of weights that they share
    unused: Mapping[str, str] = field(default_factory=dict)  # part of a name → why such a tensor is not used
    refuse: Mapping[str, tuple[Any, str]] = field(default_factory=dict)  # setting → what fits (a tuple: any of it), why
    own_code: OwnCode | None = None
    narrow_outputs: bool = False  # before training, what writes to the rows is smaller by √(2·layers)

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
        """Return the names of a role's weight and bias in a layer; a bare name has no bias.

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
        """Return the roles that it has in every layer."""
        return tuple(role for role in LAYER_ROLES if role in self.tensors)

    @property
    def numbered(self) -> bool:
        """Return whether its layers have numbers; otherwise there is one layer."""
        return self.names(self.layer_roles[0], 0) != self.names(self.layer_roles[0], 1)


_REGISTERED: dict[str, Architecture] = {}


def register_architecture(architecture: Architecture) -> None:
    """Add an architecture; it is recognised by its name, its model types, and the names of its tensors."""
    _REGISTERED[architecture.name] = architecture


def registered() -> tuple[Architecture, ...]:
    """Return all architectures in the order in which they were added."""
    return tuple(_REGISTERED.values())
