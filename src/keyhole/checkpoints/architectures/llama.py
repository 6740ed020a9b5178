"""Llama, Mistral and Qwen: causal, rotary positions, keys and values shared by groups of heads, RMS norms before."""

from dataclasses import replace

from keyhole.checkpoints.architectures.architecture import Architecture, register_architecture
from keyhole.checkpoints.architectures.transformers_fields import FIELDS, TASK_HEAD

LLAMA = Architecture(
    name="llama",
    model_types=("llama", "mistral", "qwen2", "qwen3"),
    tensors={
        "tokens": "embed_tokens.weight",
        "attention_norm": "layers.{layer}.input_layernorm.*",
        "query": "layers.{layer}.self_attn.q_proj.*",
        "key": "layers.{layer}.self_attn.k_proj.*",
        "value": "layers.{layer}.self_attn.v_proj.*",
        "output": "layers.{layer}.self_attn.o_proj.*",
        "query_norm": "layers.{layer}.self_attn.q_norm.*",
        "key_norm": "layers.{layer}.self_attn.k_norm.*",
        "feedforward_norm": "layers.{layer}.post_attention_layernorm.*",
        "inner": "layers.{layer}.mlp.up_proj.*",
        "gate": "layers.{layer}.mlp.gate_proj.*",
        "outer": "layers.{layer}.mlp.down_proj.*",
        "final_norm": "norm.*",
        "unembedding": "lm_head.*",
    },
    fields=replace(FIELDS, key_value_heads=("num_key_value_heads",), epsilon=("rms_norm_eps",)),
    norm="rms",
    default_epsilon=1e-6,
    positions="rotary",
    activation="silu",
    causal=True,
    tied=True,
    unused={r"^score\.|^classifier\.": TASK_HEAD},
)

register_architecture(LLAMA)
