"""GPT-2: causal, queries, keys and values fused in one matrix that acts on rows from the right, norms before."""

from keyhole.pretrained.architectures.architecture import Architecture, register_architecture

GPT2 = Architecture(
    name="gpt2",
    model_types=("gpt2",),
    tensors={
        "tokens": "wte.weight",
        "positions": "wpe.weight",
        "attention_norm": "h.{layer}.ln_1.*",
        "qkv": "h.{layer}.attn.c_attn.*",
        "output": "h.{layer}.attn.c_proj.*",
        "feedforward_norm": "h.{layer}.ln_2.*",
        "inner": "h.{layer}.mlp.c_fc.*",
        "outer": "h.{layer}.mlp.c_proj.*",
        "final_norm": "ln_f.*",
        "unembedding": "lm_head.*",
    },
    layout="conv1d",
    activation="gelu_new",
    causal=True,
    tied=True,
    unused={r"\.attn\.(masked_)?bias$": "the causal mask", r"^score\.|^classifier\.": "a head for one task"},
    refuse={
        "scale_attn_weights": (True, "scores are then not divided by √k"),
        "scale_attn_by_inverse_layer_idx": (False, "scores are then divided by the layer's number too"),
    },
)

register_architecture(GPT2)
