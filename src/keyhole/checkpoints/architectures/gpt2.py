"""GPT-2: causal, queries, keys and values fused in one matrix that acts on rows from the right, norms before."""

from dataclasses import replace

from keyhole.checkpoints.architectures.architecture import Architecture, OwnCode, register_architecture
from keyhole.checkpoints.architectures.transformers_fields import FIELDS, HARMLESS, MASK, TASK_HEAD

TENSORS = {
    "tokens": "wte.weight",
    "positions": "wpe.weight",
    "attention_norm": "h.{layer}.ln_1.*",
    "qkv": "h.{layer}.attn.c_attn.*",
    "output": "h.{layer}.attn.c_proj.*",
    "feedforward_norm": "h.{layer}.ln_2.*",
    "inner": "h.{layer}.mlp.c_fc.*",
    "outer": "h.{layer}.mlp.c_proj.*",
    "final_norm": "ln_f.*",
    "unembedding": "lm_head.weight",  # transformers' GPT-2 has no bias there, and drops one that is stored
}
SIZES = ("n_embd", "hidden_size", "n_inner", "n_positions", "max_position_embeddings", "n_ctx", "vocab_size")
TRAINING = ("resid_pdrop", "embd_pdrop", "attn_pdrop", "initializer_range", "gradient_checkpointing")
SUMMARY = tuple(  # of the second head of GPT2DoubleHeadsModel
    f"summary_{name}" for name in ("type", "use_proj", "activation", "proj_to_labels", "first_dropout")
)


GPT2 = Architecture(
    name="gpt2",
    model_types=("gpt2",),
    tensors=TENSORS,
    layout="conv1d",
    fields=replace(
        FIELDS,
        layers=("n_layer", "num_hidden_layers"),
        heads=("n_head", "num_attention_heads"),
        key_value_heads=(),
        epsilon=("layer_norm_epsilon",),
        activations=("activation_function",),
    ),
    activation="gelu_new",
    causal=True,
    tied=True,
    narrow_outputs=True,
    unused={
        r"\.attn\.(masked_)?bias$": MASK,
        r"^score\.|^classifier\.|^multiple_choice_head\.": TASK_HEAD,
    },
    refuse={
        "scale_attn_weights": (True, "scores are then not divided by √k"),
        "scale_attn_by_inverse_layer_idx": (False, "scores are then divided by the layer's number too"),
    },
    own_code=OwnCode(
        settings={
            **HARMLESS,
            **dict.fromkeys((*SIZES, *TRAINING, *SUMMARY, "reorder_and_upcast_attn", "predict_special_tokens")),
        },
        parts=lambda _: frozenset(TENSORS) - {"unembedding"},  # which may be the token table
        prefixes=("", "transformer."),
        classes=("GPT2LMHeadModel",),
    ),
)

register_architecture(GPT2)
