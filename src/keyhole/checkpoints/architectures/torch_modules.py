"""torch.nn.TransformerEncoder and one of its layers: queries, keys and values packed into one matrix.

The file says neither the number of heads nor whether norms come first; the configuration beside it does (nhead,
norm_first, activation). Prior-fitted networks (TabPFN's first version) are such encoders without positions: rows are
pairs of features and label, embedded, and every row sees those of the context alone.
"""

from dataclasses import replace

from keyhole.checkpoints.architectures.architecture import Architecture, Fields, register_architecture

ENCODER = Architecture(
    name="torch encoder",
    tensors={
        "qkv": "layers.{layer}.self_attn.in_proj_*",
        "output": "layers.{layer}.self_attn.out_proj.*",
        "attention_norm": "layers.{layer}.norm1.*",
        "inner": "layers.{layer}.linear1.*",
        "outer": "layers.{layer}.linear2.*",
        "feedforward_norm": "layers.{layer}.norm2.*",
        "final_norm": "norm.*",
    },
    fields=Fields(heads=("nhead", "num_attention_heads", "heads")),
    placement=None,
    positions="unknown",
    causal=None,
)
LAYER = replace(
    ENCODER,
    name="torch encoder layer",
    tensors={
        role: str(name).removeprefix("layers.{layer}.")
        for role, name in ENCODER.tensors.items()
        if role != "final_norm"
    },
)
PRIOR_FITTED = replace(
    ENCODER,
    name="prior-fitted network",
    tensors={role: f"transformer_encoder.{name}" for role, name in ENCODER.tensors.items() if role != "final_norm"},
    placement="post",
    positions="none",
    activation="gelu",
    causal=False,
    unused={
        r"^encoder\.|^y_encoder\.": "embeds features and labels; what is run takes embedded rows",
        r"^decoder\.": "reads classes off the last rows",
        r"^criterion\.": "weights of the loss",
    },
)

for each in (ENCODER, LAYER, PRIOR_FITTED):
    register_architecture(each)
