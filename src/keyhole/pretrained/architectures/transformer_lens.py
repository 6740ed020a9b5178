"""TransformerLens' names, under which compiled models are exported too.

Version 3 (HookedTransformer) has a tensor axis for heads, and matrices that act on rows from the right; version 4
(TransformerBridge) has torch's Linear maps. Configuration and norms are those of the settings beside the weights
(n_heads, act_fn, normalization_type, attention_dir, positional_embedding_type).
"""

from dataclasses import replace
from typing import Any

from keyhole.pretrained.architectures.architecture import Architecture, register_architecture

REFUSE: dict[str, tuple[Any, str]] = {
    "use_attn_scale": (True, "scores are then not divided by √k"),
    "scale_attn_by_inverse_layer_idx": (False, "scores are then divided by the layer's number too"),
    "attn_scores_soft_cap": (-1.0, "scores are then capped"),
    "output_logits_soft_cap": (-1.0, "logits are then capped"),
    "use_local_attn": (False, "distant keys are then hidden"),
    "parallel_attn_mlp": (False, "attention and feed-forward parts then read the same row"),
    "use_normalization_before_and_after": (False, "each part then has two norms"),
    "post_embedding_ln": (False, "embedded rows then have a norm"),
}

LENS = Architecture(
    name="transformer lens",
    tensors={
        "tokens": "embed.W_E",
        "positions": "pos_embed.W_pos",
        "query": ("blocks.{layer}.attn.W_Q", "blocks.{layer}.attn.b_Q"),
        "key": ("blocks.{layer}.attn.W_K", "blocks.{layer}.attn.b_K"),
        "value": ("blocks.{layer}.attn.W_V", "blocks.{layer}.attn.b_V"),
        "output": ("blocks.{layer}.attn.W_O", "blocks.{layer}.attn.b_O"),
        "attention_norm": ("blocks.{layer}.ln1.w", "blocks.{layer}.ln1.b"),
        "feedforward_norm": ("blocks.{layer}.ln2.w", "blocks.{layer}.ln2.b"),
        "inner": ("blocks.{layer}.mlp.W_in", "blocks.{layer}.mlp.b_in"),
        "gate": "blocks.{layer}.mlp.W_gate",
        "outer": ("blocks.{layer}.mlp.W_out", "blocks.{layer}.mlp.b_out"),
        "final_norm": ("ln_final.w", "ln_final.b"),
        "unembedding": ("unembed.W_U", "unembed.b_U"),
    },
    layout="per head",
    epsilon=("eps",),
    causal=None,
    unused={r"\.attn\.(mask|IGNORE)$": "the causal mask"},
    refuse=REFUSE,
)
GROUPED = replace(
    LENS,
    name="transformer lens (shared keys and values)",
    tensors={
        **LENS.tensors,
        "key": ("blocks.{layer}.attn._W_K", "blocks.{layer}.attn._b_K"),
        "value": ("blocks.{layer}.attn._W_V", "blocks.{layer}.attn._b_V"),
    },
)
BRIDGE = Architecture(
    name="transformer lens 4",
    tensors={
        "tokens": "embed.weight",
        "positions": "pos_embed.weight",
        "query": "blocks.{layer}.attn.q.*",
        "key": "blocks.{layer}.attn.k.*",
        "value": "blocks.{layer}.attn.v.*",
        "output": "blocks.{layer}.attn.o.*",
        "attention_norm": "blocks.{layer}.ln1.*",
        "feedforward_norm": "blocks.{layer}.ln2.*",
        "inner": "blocks.{layer}.mlp.in.*",
        "gate": "blocks.{layer}.mlp.gate.*",
        "outer": "blocks.{layer}.mlp.out.*",
        "final_norm": "ln_final.*",
        "unembedding": "unembed.*",
    },
    heads=("n_heads",),
    epsilon=("eps",),
    causal=None,
    refuse={
        **REFUSE,
        "positional_embedding_type": ("standard", "queries and keys are then turned in neighbouring pairs"),
        "final_rms": (False, "the last norm is then another than the others"),
    },
)

for each in (LENS, GROUPED, BRIDGE):
    register_architecture(each)
