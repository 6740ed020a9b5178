"""TransformerLens' names, under which compiled models are exported too.

Version 3 (HookedTransformer) has a tensor axis for heads, and matrices that act on rows from the right; version 4
(TransformerBridge) has torch's Linear maps. Configuration and norms are those of the settings beside the weights
(n_heads, act_fn, normalization_type, attention_dir, positional_embedding_type).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keyhole.checkpoints.architectures.architecture import Architecture, Fields, OwnCode, register_architecture
from keyhole.checkpoints.architectures.transformers_fields import MASK

WITH_GAIN = ("LN", "RMS")
REFUSE: dict[str, tuple[Any, str]] = {
    "normalization_type": (("LN", "RMS", "LNPre", "RMSPre", None), "its norms are then not known"),
    "attention_dir": (("causal", "bidirectional"), "which keys a row sees is then not known"),
    "positional_embedding_type": (("standard", "rotary"), "positions then enter the scores in another way"),
    "final_rms": (False, "the last norm is then another than the others"),
    "use_attn_scale": (True, "scores are then not divided by √k"),
    "scale_attn_by_inverse_layer_idx": (False, "scores are then divided by the layer's number too"),
    "attn_scores_soft_cap": (-1.0, "scores are then capped"),
    "output_logits_soft_cap": (-1.0, "logits are then capped"),
    "use_local_attn": (False, "distant keys are then hidden"),
    "parallel_attn_mlp": (False, "attention and feed-forward parts then read the same row"),
    "use_normalization_before_and_after": (False, "each part then has two norms"),
    "post_embedding_ln": (False, "embedded rows then have a norm"),
    "use_qk_norm": (False, "queries and keys then have norms"),
    "clip_qkv": (None, "queries, keys and values are then cut off"),
    "use_logn_attn": (False, "scores then grow with the length"),
    "use_attention_sinks": (False, "attention then has a key of its own"),
}
SIZES = ("d_model", "d_head", "d_mlp", "d_vocab", "d_vocab_out", "n_ctx", "n_params")
HOOKS = ("use_attn_result", "use_attn_in", "use_split_qkv_input", "use_hook_mlp_in", "use_hook_tokens")
TRAINING = ("init_mode", "init_weights", "initializer_range", "seed", "device", "n_devices", "trust_remote_code")
NAMES = ("model_name", "tokenizer_name", "tokenizer_prepends_bos", "default_prepend_bos", "from_checkpoint")
ORIGIN = ("checkpoint_index", "checkpoint_label_type", "checkpoint_value", "ungroup_grouped_query_attention")
WITHOUT_EFFECT = (  # unless another setting is on, which is refused
    "window_size",
    "attn_types",
    "experts_per_token",
    "norm_topk_prob",
    "train_seq_length",
    "relative_attention_max_distance",
    "relative_attention_num_buckets",
    "decoder_start_token_id",
    "quantization_method",
    "uses_rms_norm",
    "layer_norm_folding",
)
ROTARY = (  # heeded by rotary positions alone, of which no verdict is given
    "rotary_dim",
    "rotary_base",
    "rotary_base_local",
    "rotary_scaling_factor",
    "rotary_adjacent_pairs",
    "use_dynamic_ntk_rope",
    "use_NTK_by_parts_rope",
    "NTK_by_parts_low_freq_factor",
    "NTK_by_parts_high_freq_factor",
    "NTK_by_parts_factor",
    "NTK_original_ctx_len",
    "use_yarn_rope",
    "yarn_factor",
    "yarn_attention_factor",
    "yarn_beta_fast",
    "yarn_beta_slow",
    "yarn_original_max_position_embeddings",
    "yarn_truncate",
    "yarn_global_attn_only",
)
SETTINGS: dict[str, tuple[Any, ...] | None] = {
    **dict.fromkeys((*SIZES, *HOOKS, *TRAINING, *NAMES, *ORIGIN, *WITHOUT_EFFECT, *ROTARY, "attn_only", "gated_mlp")),
    "num_experts": (None,),
    "load_in_4bit": (False,),
    "original_architecture": (None, "neel", "GPT2LMHeadModel"),  # blocks of others may be wired in another way
}


FIELDS = Fields(
    layers=("n_layers",),
    heads=("n_heads",),
    key_value_heads=("n_key_value_heads",),
    scale=("attn_scale",),
    norms=("normalization_type",),
    epsilon=("eps",),
    activations=("act_fn",),
    formats=("dtype",),
)


def parts(config: Mapping[str, Any]) -> frozenset[str]:
    """Return the roles that HookedTransformer has under a configuration; norms without a gain have no tensors."""
    roles = {"tokens", "positions", "query", "key", "value", "output", "unembedding"}
    if config.get("positional_embedding_type") == "rotary":
        roles -= {"positions"}
    normed = config.get("normalization_type", "LN") in WITH_GAIN
    if normed:
        roles |= {"attention_norm", "final_norm"}
    if not config.get("attn_only", False):
        roles |= {"inner", "outer"} | ({"feedforward_norm"} if normed else set())
        roles |= {"gate"} if config.get("gated_mlp", False) else set()
    return frozenset(roles)


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
    fields=FIELDS,
    causal=None,
    own_code=OwnCode(SETTINGS, parts, default_format="float32"),
    unused={r"\.attn\.(mask|IGNORE)$": MASK},
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
BRIDGE = replace(
    LENS,
    name="transformer lens 4",
    layout="linear",
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
    unused={},
    refuse={
        **REFUSE,
        "positional_embedding_type": ("standard", "queries and keys are then turned in neighbouring pairs"),
    },
)

for each in (LENS, GROUPED, BRIDGE):
    register_architecture(each)
