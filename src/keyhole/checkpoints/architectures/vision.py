"""Vision transformers: patches of an image through a linear map, a [CLS] row, learned positions, norms before."""

from dataclasses import replace

from keyhole.checkpoints.architectures.architecture import Architecture, register_architecture
from keyhole.checkpoints.architectures.transformers_fields import FIELDS

UNUSED = {
    r"(^|\.)pooler\.": "reads the first row through a tanh, after the last layer",
    r"mask_token$": "a row that stands for hidden patches while training",
    r"^distillation_classifier\.": "a second read-out, at the distillation row",
    r"^decoder\.": "draws the image again while training",
}

VIT = Architecture(
    name="vit",
    model_types=("vit", "deit"),
    tensors={
        "features": "embeddings.patch_embeddings.projection.*",
        "cls": "embeddings.cls_token",
        "distillation": "embeddings.distillation_token",
        "positions": "embeddings.position_embeddings",
        "query": "encoder.layer.{layer}.attention.attention.query.*",
        "key": "encoder.layer.{layer}.attention.attention.key.*",
        "value": "encoder.layer.{layer}.attention.attention.value.*",
        "output": "encoder.layer.{layer}.attention.output.dense.*",
        "attention_norm": "encoder.layer.{layer}.layernorm_before.*",
        "inner": "encoder.layer.{layer}.intermediate.dense.*",
        "outer": "encoder.layer.{layer}.output.dense.*",
        "feedforward_norm": "encoder.layer.{layer}.layernorm_after.*",
        "final_norm": "layernorm.*",
        "unembedding": "classifier.*",
    },
    fields=FIELDS,
    default_epsilon=1e-12,
    activation="gelu",
    unused=UNUSED | {r"^cls_classifier\.": "the read-out at [CLS] of a model with two"},
)
VIT_RENAMED = replace(  # as transformers 5 names the same parts in memory
    VIT,
    name="vit (names of transformers 5)",
    tensors={
        **VIT.tensors,
        "query": "layers.{layer}.attention.q_proj.*",
        "key": "layers.{layer}.attention.k_proj.*",
        "value": "layers.{layer}.attention.v_proj.*",
        "output": "layers.{layer}.attention.o_proj.*",
        "attention_norm": "layers.{layer}.layernorm_before.*",
        "inner": "layers.{layer}.mlp.fc1.*",
        "outer": "layers.{layer}.mlp.fc2.*",
        "feedforward_norm": "layers.{layer}.layernorm_after.*",
    },
)
TO_QKV = Architecture(  # the layout of many small vision transformers written by hand
    name="vit (to_q, to_k, to_v)",
    tensors={
        "features": "to_patch_embedding.1.*",
        "cls": "cls_token",
        "positions": "pos_embedding",
        "query": "transformer.layers.{layer}.0.fn.fn.to_q.*",
        "key": "transformer.layers.{layer}.0.fn.fn.to_k.*",
        "value": "transformer.layers.{layer}.0.fn.fn.to_v.*",
        "output": "transformer.layers.{layer}.0.fn.fn.to_out.0.*",
        "attention_norm": "transformer.layers.{layer}.0.fn.norm.*",
        "inner": "transformer.layers.{layer}.1.fn.fn.net.0.*",
        "outer": "transformer.layers.{layer}.1.fn.fn.net.3.*",
        "feedforward_norm": "transformer.layers.{layer}.1.fn.norm.*",
        "final_norm": "mlp_head.0.*",
        "unembedding": "mlp_head.1.*",
    },
)

for each in (VIT, VIT_RENAMED, TO_QKV):
    register_architecture(each)
