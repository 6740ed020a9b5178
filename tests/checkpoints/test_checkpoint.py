"""Every tensor finds its place in its family, or is named; what does not fit together is refused by name."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from keyhole.checkpoints import Architecture, load_checkpoint
from keyhole.checkpoints.architectures import registered
from keyhole.checkpoints.architectures.gpt2 import GPT2
from keyhole.errors import AssumptionError, CheckpointError

from helpers import tiny_checkpoints as tiny
from helpers.tiny_checkpoints import HEADS, D, K, heads_of

FAMILIES = [tiny.bert, tiny.gpt2, tiny.llama, tiny.encoder]


@pytest.mark.parametrize("family", FAMILIES)
def test_from_a_folder_or_from_memory(tmp_path, family):
    """A folder with a configuration and its arrays in memory are the same checkpoint; every tensor is known."""
    arrays, config = family()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    stored, held = load_checkpoint(tmp_path), load_checkpoint(arrays, config=config)
    assert stored.sizes == held.sizes
    assert stored.sizes.layers == 2
    assert stored.unknown == ()
    for one, two in zip(stored.layers, held.layers, strict=True):
        assert all(np.array_equal(a.query, b.query) for a, b in zip(one.heads, two.heads, strict=True))


def test_bert_heads_are_blocks_of_rows():
    """Head h has rows h·k to (h + 1)·k of torch's query matrix, and the same columns of its output matrix."""
    arrays, config = tiny.bert()
    checkpoint = load_checkpoint(arrays, config=config)
    here, k = "bert.encoder.layer.1.attention", D // HEADS
    for h, head in enumerate(checkpoint.layers[1].heads):
        rows = slice(h * k, (h + 1) * k)
        assert np.array_equal(head.query, arrays[f"{here}.self.query.weight"][rows].T)
        assert np.array_equal(head.value_bias, arrays[f"{here}.self.value.bias"][rows])
        assert np.array_equal(head.output, arrays[f"{here}.output.dense.weight"][:, rows].T)
        assert head.scale == pytest.approx(k**-0.5)
    assert [each.name for each in checkpoint.unused] == ["bert.pooler.dense.weight", "cls.predictions.bias"]
    assert np.array_equal(checkpoint.embedding.norm.bias, arrays["bert.embeddings.LayerNorm.beta"])
    assert checkpoint.placement == "post"


def test_gpt2_is_fused_and_tied():
    """Queries, keys and values are the three blocks of columns of c_attn; the token table, turned round, unembeds."""
    arrays, config = tiny.gpt2()
    checkpoint = load_checkpoint(arrays, config=config)
    fused, bias, k = arrays["h.0.attn.c_attn.weight"], arrays["h.0.attn.c_attn.bias"], D // HEADS
    for h, head in enumerate(checkpoint.layers[0].heads):
        for block, (part, shift) in enumerate(
            ((head.query, head.query_bias), (head.key, head.key_bias), (head.value, head.value_bias))
        ):
            columns = slice(block * D + h * k, block * D + (h + 1) * k)
            assert np.array_equal(part, fused[:, columns])
            assert np.array_equal(shift, bias[columns])
        assert np.array_equal(head.output, arrays["h.0.attn.c_proj.weight"][h * k : (h + 1) * k])
    assert np.array_equal(checkpoint.unembedding.weight, arrays["wte.weight"].T)
    assert (checkpoint.causal, checkpoint.placement) == (True, "pre")


def test_llama_heads_share_keys_and_values():
    """Of four heads with two groups, heads 1 and 2 have the first keys and values, heads 3 and 4 the second."""
    arrays, config = tiny.llama()
    checkpoint = load_checkpoint(arrays, config=config)
    keys = arrays["model.layers.0.self_attn.k_proj.weight"]
    for h, head in enumerate(checkpoint.layers[0].heads):
        assert np.array_equal(head.key, keys[(h // 2) * K : (h // 2 + 1) * K].T)
    assert checkpoint.positions.base == 500000.0
    assert checkpoint.layers[0].feedforward.gate is not None


def test_packed_by_head():
    """A packed matrix that has three blocks for each head in turn is split by heads first."""
    arrays = {"l.0.qkv.weight": np.arange(3 * D * D, dtype=float).reshape(3 * D, D), "l.0.o.weight": np.ones((D, D))}
    own = Architecture("own", {"qkv": "l.{layer}.qkv.*", "output": "l.{layer}.o.*"}, packing="by head")
    head = load_checkpoint(arrays, architecture=own, config={"heads": HEADS}).layers[0].heads[1]
    k = D // HEADS
    for block, part in enumerate((head.query, head.key, head.value)):
        assert np.array_equal(part, arrays["l.0.qkv.weight"].reshape(HEADS, 3, k, D)[1, block].T)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_tensor_is_placed_or_named(family):
    """A tensor that is added is named as unknown; the model is then not complete."""
    arrays, config = family()
    config = config | {"norm_first": True, "causal": False}
    load_checkpoint(arrays, config=config).require_complete()
    checkpoint = load_checkpoint(arrays | {"a.stranger": np.ones(3)}, config=config)
    assert checkpoint.unknown == ("a.stranger",)
    with pytest.raises(CheckpointError, match=r"a\.stranger has no place"):
        checkpoint.require_complete()


def test_wrappers_are_taken_off():
    """Names that all begin with module. or _orig_mod. are the names behind it."""
    arrays, config = tiny.gpt2()
    wrapped = {f"module._orig_mod.{name}": array for name, array in arrays.items()}
    assert load_checkpoint(wrapped, config=config).unknown == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config": {"n_head": None}}, "how many heads"),
        ({"config": {"n_head": 5}}, "do not share evenly"),
        ({"config": {"n_head": "3"}}, "n_head is '3'"),
        ({"family": tiny.encoder, "config": {"norm": "nrom"}}, "the norm is 'nrom'"),
        ({"family": tiny.encoder, "config": {"norm": []}}, "one of layer, rms"),
        ({"arrays": {"a\x1b[2J": np.ones(3)}}, "is not the name of a weight"),
        ({"arrays": {"a" * 501: np.ones(3)}}, "is not the name of a weight"),
        ({"config": {"n_head": True}}, "it must be a whole number"),
        ({"config": {"n_layer": 3}}, "has 2 layers .* says 3"),
        ({"config": {"model_type": "t5"}}, "model type 't5'"),
        ({"config": {"model_type": [1]}}, "which is not known"),
        ({"config": {"scale_attn_by_inverse_layer_idx": True}}, "it is not read"),
        ({"drop": "h.1.attn.c_proj.weight"}, "layer 2 and layer 1 differ"),
        ({"drop": "h.0.attn.c_attn.weight"}, "attention that gpt2 has"),
        ({"arrays": {"h.5.ln_1.weight": np.ones(D)}}, None),
        ({"arrays": {"h.2.ln_1.weight": np.ones(D)}}, "no queries in its layer"),
        ({"arrays": {"h.1.attn.c_attn.weight": np.ones((D, D))}}, "12 inputs and 36 outputs"),
        ({"arrays": {"h.1.attn.c_attn.bias": np.ones(D)}}, "36 numbers fit"),
        ({"arrays": {"h.0.mlp.c_fc.weight": np.ones((D, 7))}}, "c_f?c?.*fits? the rest"),
        ({"arrays": {"wte.weight": np.ones((4, 5))}}, "rows of 12 entries"),
        ({"arrays": {"ln_f.weight": np.ones(5)}}, "ln_f.weight has shape"),
        ({"arrays": {"lm_head.weight": np.ones((4, 5))}}, "lm_head.weight has shape"),
    ],
)
def test_what_does_not_fit_is_refused(change, sentence):
    """Settings and sides that contradict each other are refused by name, before a number is read."""
    arrays, config = change.get("family", tiny.gpt2)()
    arrays, config = arrays | change.get("arrays", {}), config | change.get("config", {})
    arrays.pop(change.get("drop"), None)
    if sentence is None:  # a layer far beyond the last is no layer: its tensor is named
        assert load_checkpoint(arrays, config=config).unknown == ("h.5.ln_1.weight",)
        return
    with pytest.raises(CheckpointError, match=sentence):
        load_checkpoint(arrays, config=config)


def test_unrecognised():
    """Tensors of no known family, two stacks of layers, and unknown names are refused."""
    with pytest.raises(CheckpointError, match="does not hold the attention that any known architecture has"):
        load_checkpoint({"w": np.ones(3)})
    with pytest.raises(CheckpointError, match="does not hold the attention that gpt2 has"):
        load_checkpoint({"w": np.ones(3)}, architecture="gpt2")
    with pytest.raises(CheckpointError, match="'gpt7' is not an architecture; the names are bert,"):
        load_checkpoint({"w": np.ones(3)}, architecture="gpt7")
    arrays, config = tiny.encoder()
    twice = {**arrays, **{name.replace("encoder.", "decoder."): array for name, array in arrays.items()}}
    with pytest.raises(CheckpointError, match=r"holds 2 stacks of attention layers, under 'decoder\.', 'encoder\.'"):
        load_checkpoint(twice, config=config)
    with pytest.raises(CheckpointError, match=r"where \(heads, rows, columns\) was expected"):
        load_checkpoint({name: np.ones(3) for name in heads_of()})


def test_an_architecture_says_where_attention_is():
    """A record without queries, or with a role that is none, is refused when it is written."""
    with pytest.raises(AssumptionError, match="does not say where queries"):
        Architecture("own", {"output": "o.*"})
    with pytest.raises(AssumptionError, match="gives a name to 'quarry'"):
        replace(GPT2, tensors={**GPT2.tensors, "quarry": "q"})


def test_names_are_all_different():
    """No two families have one name."""
    names = [each.name for each in registered()]
    assert len(names) == len(set(names))


def test_layers_are_a_sequence():
    """Layers count from 0, negative indices from the end."""
    arrays, config = tiny.bert(layers=3)
    layers = load_checkpoint(arrays, config=config).layers
    assert [layer.index for layer in layers] == [0, 1, 2]
    assert layers[-1].index == 2
    with pytest.raises(IndexError):
        layers[3]


def test_heads_with_an_axis_of_their_own():
    """Per-head tensors (heads, d, k) are each head's matrices as they stand; a batch norm has its mean and variance."""
    rng = np.random.default_rng(0)
    shapes = dict.fromkeys(("W_query", "W_key", "W_val"), (2, 6, 3)) | {"W_out": (2, 3, 6)}
    arrays = {f"embedder.layers.0.0.module.{name}": rng.normal(size=shape) for name, shape in shapes.items()}
    for name in ("weight", "bias", "running_mean", "running_var"):
        arrays[f"embedder.layers.0.1.normalizer.{name}"] = rng.uniform(1, 2, size=6)
    arrays |= {"init_embed.weight": rng.normal(size=(6, 2)), "project_out.weight": rng.normal(size=(6, 6))}
    checkpoint = load_checkpoint(arrays)
    for h, head in enumerate(checkpoint.layers[0].heads):
        assert np.array_equal(head.key, arrays["embedder.layers.0.0.module.W_key"][h])
        assert np.array_equal(head.output, arrays["embedder.layers.0.0.module.W_out"][h])
    norm, rows = checkpoint.layers[0].attention_norm, rng.normal(size=(5, 6))
    gain, bias, mean, variance = (arrays[f"embedder.layers.0.1.normalizer.{name}"] for name in NORMS)
    assert np.allclose(norm(rows), (rows - mean) / np.sqrt(variance + 1e-5) * gain + bias)
    assert np.array_equal(checkpoint.embedding.features.weight, arrays["init_embed.weight"].T)
    assert [(each.name, each.known) for each in checkpoint.unused] == [("project_out.weight", True)]


NORMS = ("weight", "bias", "running_mean", "running_var")


def test_to_q_to_k_to_v():
    """The hand-written layout of vision transformers, heads wider than the model's rows allow included."""
    rng = np.random.default_rng(0)
    here = "transformer.layers.0.0.fn.fn"
    arrays = {f"{here}.to_{name}.weight": rng.normal(size=(10, 4)) for name in "qkv"}
    arrays |= {f"{here}.to_out.0.weight": rng.normal(size=(4, 10)), "cls_token": rng.normal(size=(1, 1, 4))}
    arrays |= {"pos_embedding": rng.normal(size=(1, 3, 4)), "to_patch_embedding.1.weight": rng.normal(size=(4, 7))}
    checkpoint = load_checkpoint(arrays, config={"heads": 2})
    for h, head in enumerate(checkpoint.layers[0].heads):
        assert np.array_equal(head.value, arrays[f"{here}.to_v.weight"][5 * h : 5 * h + 5].T)
        assert np.array_equal(head.output, arrays[f"{here}.to_out.0.weight"][:, 5 * h : 5 * h + 5].T)
    assert checkpoint.embedding.cls.shape == (1, 4)
    assert checkpoint.embedding.positions.shape == (3, 4)
    assert checkpoint.unknown == ()
