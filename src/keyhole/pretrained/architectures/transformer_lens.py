"""TransformerLens' names, under which compiled models are exported too: a tensor axis for heads, rows from the left.

Configuration and norms are those of a HookedTransformerConfig beside the weights (n_heads, act_fn, normalization_type,
attention_dir, positional_embedding_type).
"""

from dataclasses import replace

from keyhole.pretrained.architectures.architecture import Architecture, register_architecture

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
    refuse={"use_attn_scale": (True, "scores are then not divided by √k")},
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

for each in (LENS, GROUPED):
    register_architecture(each)
