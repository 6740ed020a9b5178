"""BERT and its kin: encoders with separate queries, keys and values, norms after each part, learned positions."""

from dataclasses import replace

from keyhole.checkpoints.architectures.architecture import Architecture, register_architecture
from keyhole.checkpoints.architectures.transformers_fields import FIELDS

HEADS = {  # what stands after the last layer, with maps of its own
    r"(^|\.)pooler\.": "reads the first row through a tanh, after the last layer",
    r"^cls\.|^predictions\.|^lm_head\.|^vocab_|^generator_|^discriminator_": "a head for pretraining",
    r"^classifier\.|^pre_classifier\.|^qa_outputs\.|^sop_classifier\.": "a head for one task, after the last layer",
}

BERT = Architecture(
    name="bert",
    model_types=("bert",),
    tensors={
        "tokens": "embeddings.word_embeddings.weight",
        "positions": "embeddings.position_embeddings.weight",
        "segments": "embeddings.token_type_embeddings.weight",
        "embedding_norm": "embeddings.LayerNorm.*",
        "widen": "embeddings_project.*",
        "query": "encoder.layer.{layer}.attention.self.query.*",
        "key": "encoder.layer.{layer}.attention.self.key.*",
        "value": "encoder.layer.{layer}.attention.self.value.*",
        "output": "encoder.layer.{layer}.attention.output.dense.*",
        "attention_norm": "encoder.layer.{layer}.attention.output.LayerNorm.*",
        "inner": "encoder.layer.{layer}.intermediate.dense.*",
        "outer": "encoder.layer.{layer}.output.dense.*",
        "feedforward_norm": "encoder.layer.{layer}.output.LayerNorm.*",
    },
    fields=FIELDS,
    placement="post",
    default_epsilon=1e-12,
    activation="gelu",
    unused=HEADS,
    refuse={
        "position_embedding_type": ("absolute", "scores then have terms for distances"),
        "is_decoder": (False, "attention is then causal"),
    },
)
ROBERTA = replace(
    BERT,
    name="roberta",
    model_types=("roberta", "xlm-roberta", "camembert"),
    position_offset=2,  # the row of the padding token, 1, and one more
    default_epsilon=1e-5,
)
ELECTRA = replace(BERT, name="electra", model_types=("electra",))
DISTILBERT = replace(
    BERT,
    name="distilbert",
    model_types=("distilbert",),
    tensors={
        "tokens": "embeddings.word_embeddings.weight",
        "positions": "embeddings.position_embeddings.weight",
        "embedding_norm": "embeddings.LayerNorm.*",
        "query": "transformer.layer.{layer}.attention.q_lin.*",
        "key": "transformer.layer.{layer}.attention.k_lin.*",
        "value": "transformer.layer.{layer}.attention.v_lin.*",
        "output": "transformer.layer.{layer}.attention.out_lin.*",
        "attention_norm": "transformer.layer.{layer}.sa_layer_norm.*",
        "inner": "transformer.layer.{layer}.ffn.lin1.*",
        "outer": "transformer.layer.{layer}.ffn.lin2.*",
        "feedforward_norm": "transformer.layer.{layer}.output_layer_norm.*",
    },
    fields=replace(
        FIELDS,
        layers=("n_layers", "num_hidden_layers"),
        heads=("n_heads", "num_attention_heads"),
        epsilon=(),
        activations=("activation",),
    ),
    refuse={},
)
ALBERT = replace(
    BERT,
    name="albert",
    model_types=("albert",),
    tensors={
        "tokens": "embeddings.word_embeddings.weight",
        "positions": "embeddings.position_embeddings.weight",
        "segments": "embeddings.token_type_embeddings.weight",
        "embedding_norm": "embeddings.LayerNorm.*",
        "widen": "encoder.embedding_hidden_mapping_in.*",
        "query": "encoder.albert_layer_groups.{group}.albert_layers.0.attention.query.*",
        "key": "encoder.albert_layer_groups.{group}.albert_layers.0.attention.key.*",
        "value": "encoder.albert_layer_groups.{group}.albert_layers.0.attention.value.*",
        "output": "encoder.albert_layer_groups.{group}.albert_layers.0.attention.dense.*",
        "attention_norm": "encoder.albert_layer_groups.{group}.albert_layers.0.attention.LayerNorm.*",
        "inner": "encoder.albert_layer_groups.{group}.albert_layers.0.ffn.*",
        "outer": "encoder.albert_layer_groups.{group}.albert_layers.0.ffn_output.*",
        "feedforward_norm": "encoder.albert_layer_groups.{group}.albert_layers.0.full_layer_layer_norm.*",
    },
    activation="gelu_new",
    shared_layers=("num_hidden_layers", "num_hidden_groups"),
    refuse={
        "inner_group_num": (1, "several layers then make a group"),
        "position_embedding_type": ("absolute", "scores then have terms for distances"),
    },
)

for each in (BERT, ROBERTA, ELECTRA, DISTILBERT, ALBERT):
    register_architecture(each)
