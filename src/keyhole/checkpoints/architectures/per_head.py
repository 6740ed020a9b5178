"""Encoders with a tensor axis for heads: W_query, W_key, W_val (heads, d, k) and W_out (heads, k, d)."""

from keyhole.checkpoints.architectures.architecture import Architecture, register_architecture

GRAPH_ENCODER = Architecture(
    name="graph attention encoder",
    tensors={
        "features": "init_embed.*",
        "query": "layers.{layer}.0.module.W_query",
        "key": "layers.{layer}.0.module.W_key",
        "value": "layers.{layer}.0.module.W_val",
        "output": "layers.{layer}.0.module.W_out",
        "attention_norm": "layers.{layer}.1.normalizer.*",
        "inner": "layers.{layer}.2.module.0.*",
        "outer": "layers.{layer}.2.module.2.*",
        "feedforward_norm": "layers.{layer}.3.normalizer.*",
    },
    layout="per head",
    feedforward_layout="linear",
    norm="batch",
    placement="post",
    positions="none",
    activation="relu",
    unused={
        r"^project_|W_placeholder$": "the decoder, which reads the encoder's rows",
        r"^init_embed_depot\.": "the map of the first node, which has other coordinates",
    },
)

register_architecture(GRAPH_ENCODER)
