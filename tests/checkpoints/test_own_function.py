"""Nothing is proved of another model than the one that transformers or TransformerLens loads from the same files.

The last two tests draw configurations and arrangements of files. `KEYHOLE_FUZZ=2000 pytest --extras -s
tests/checkpoints/test_own_function.py` draws so many, from a seed that is printed and that KEYHOLE_FUZZ_SEED sets.
"""

import json
import os
import time
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import keyhole
from keyhole.checkpoints import Frame, framed_model, load_checkpoint, logit_difference, own_code, prepare
from keyhole.checkpoints.weight_files import in_memory
from keyhole.errors import AssumptionError, CheckpointError

from helpers.tiny_gpt2 import VOCABULARY, write_gpt2

CASES = int(os.environ.get("KEYHOLE_FUZZ", "60"))
SEED = int(os.environ.get("KEYHOLE_FUZZ_SEED", time.time_ns() if "KEYHOLE_FUZZ" in os.environ else 2024))
# as GPT2Config(…).save_pretrained writes them: every field that differs from the class of all configurations
VERSION_5 = {
    "add_cross_attention": False, "attn_pdrop": 0.1, "bos_token_id": 50256, "dtype": "float32", "embd_pdrop": 0.1,
    "eos_token_id": 50256, "initializer_range": 0.02, "n_inner": None, "pad_token_id": None,
    "reorder_and_upcast_attn": False, "resid_pdrop": 0.1, "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True, "summary_activation": None, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True, "tie_word_embeddings": True,
    "transformers_version": "5.22.2", "use_cache": True,
}  # fmt: skip
VERSION_4 = {
    "_name_or_path": "gpt2", "_attn_implementation_autoset": True, "attn_pdrop": 0.1, "embd_pdrop": 0.1, "n_ctx": 12,
    "_num_labels": 1, "output_past": True, "xla_device": None,
    "gradient_checkpointing": False, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "is_decoder": False,
    "pruned_heads": {}, "is_encoder_decoder": False, "predict_special_tokens": True, "torchscript": False,
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "torch_dtype": "float32",
    "max_length": 20, "temperature": 1.0, "use_bfloat16": False, "transformers_version": "4.44.2",
}  # fmt: skip


def nothing(*_):
    """Change nothing."""


def arranged(folder, arrange=nothing, **more):
    """A tiny GPT-2 in a folder, its tensors and settings changed in place by `arrange`."""
    write_gpt2(folder, **{"seed": 3, "scale": 0.05, **more})
    tensors, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    arrange(tensors, config)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def asked(folder, samples=10):
    """A claim that the tiny model obeys on every word."""
    words, effort = keyhole.Words(read_at="SEP"), keyhole.Effort(0.1, samples)
    return keyhole.prove_claim(folder, "at least 0 of 1", [3], words=words, effort=effort, store=folder / "store")


@pytest.mark.parametrize("settings", [{}, VERSION_5, VERSION_4], ids=["bare", "version 5", "version 4"])
def test_what_transformers_writes_is_read(tmp_path, settings):
    """Configurations as releases of transformers write them leave no doubt, and the claim is proved."""
    assert [row.status for row in asked(arranged(tmp_path / "m", **settings)).lengths] == ["PROVED"]


@pytest.mark.parametrize("eps", [1e-12, 0.5, 1, 2.0, 50.0])
def test_the_epsilon_is_the_familys_field_at_any_value(tmp_path, eps):
    """GPT-2 reads layer_norm_epsilon whatever its number, and no other name of it."""
    checkpoint = load_checkpoint(arranged(tmp_path / "m", layer_norm_epsilon=eps, layer_norm_eps=1e-3))
    assert checkpoint.final_norm.eps == checkpoint.layers[0].attention_norm.eps == eps
    lens = {"n_layers": 1, "eps": eps, "epsilon": 1.0, "layer_norm_eps": 2.0}
    assert load_checkpoint(lens_arrays(), config=lens).final_norm.eps == eps


def lens_arrays(**more):
    """One layer under TransformerLens' names."""
    rng = np.random.default_rng(0)
    sides = {f"blocks.0.attn.W_{name}": (2, 6, 3) for name in "QKV"} | {"blocks.0.attn.W_O": (2, 3, 6)}
    sides |= {f"{name}.{part}": (6,) for name in ("blocks.0.ln1", "blocks.0.ln2", "ln_final") for part in "wb"}
    sides |= {"blocks.0.mlp.W_in": (6, 8), "blocks.0.mlp.W_out": (8, 6), "embed.W_E": (5, 6), "pos_embed.W_pos": (9, 6)}
    sides |= {"unembed.W_U": (6, 5), **more}
    return {name: rng.normal(size=side).astype(np.float32) for name, side in sides.items()}


LENS = {"n_layers": 1, "act_fn": "relu", "attention_dir": "causal"}


def drop(name):
    """Leave out a tensor, or all whose names begin so."""

    def arrange(tensors, _):
        gone = [each for each in tensors if each.startswith(f"transformer.{name}")]
        assert gone
        for each in gone:
            del tensors[each]

    return arrange


def add(name, *shape):
    """Add a tensor of ones."""
    return lambda tensors, _: tensors.update({name: np.ones(shape, np.float32)})


def rename(old, new):
    """Give tensors other names."""

    def arrange(tensors, _):
        changed = {name: new.join(name.split(old)) for name in tensors if old in name}
        assert changed
        for name, other in changed.items():
            tensors[other] = tensors.pop(name)

    return arrange


def config(**settings):
    """Add settings to the configuration."""
    return lambda _, config: config.update(settings)


def without(name):
    """Take a setting out of the configuration."""
    return lambda _, config: config.pop(name)


def mask(tensors, _):
    """Store a mask that hides nothing."""
    tensors["transformer.h.0.attn.bias"] = np.ones((1, 1, 12, 12), np.float32)


def causal_mask(tensors, _):
    """Store the mask that hides later keys, as releases before 4.31 did."""
    tensors["transformer.h.0.attn.bias"] = np.tri(12, dtype=bool)[None, None]


def untie(tensors, _):
    """Store an unembedding that is not the token table, tied by the configuration."""
    tensors["lm_head.weight"] = np.ones((len(VOCABULARY), 8), np.float32)


def biased_head(tensors, _):
    """Store the token table as the unembedding, with a bias that transformers' GPT-2 does not have."""
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"].copy()
    tensors["lm_head.bias"] = np.ones(len(VOCABULARY), np.float32)


def mixed(tensors, _):
    """Store one tensor in another format."""
    tensors["transformer.wpe.weight"] = tensors["transformer.wpe.weight"].astype(np.float16)


REFUSED = {
    "eps 0": (config(layer_norm_epsilon=0.0), "eps must be > 0"),
    "eps below 0": (config(layer_norm_epsilon=-1.0), "give a number ≥ 0 as layer_norm_epsilon"),
    "eps not a number": (config(layer_norm_epsilon="1e-5"), "give a number ≥ 0 as layer_norm_epsilon"),
    "eps NaN": (config(layer_norm_epsilon=float("nan")), "give a number ≥ 0 as layer_norm_epsilon"),
    "another name of eps": (config(layer_norm_eps=0.1), "has layer_norm_eps = 0.1, of which it is not known"),
    "another name of the activation": (config(hidden_act="relu"), "has hidden_act = 'relu'"),
    "gelu cut off": (config(activation_function="gelu_fast"), "the activation gelu_fast"),
    "norm": (config(norm="rms"), "has norm = 'rms'"),
    "normalization_type": (config(normalization_type="RMS"), "has normalization_type = 'RMS'"),
    "heads by two names": (config(num_attention_heads=4), "n_head = 2 and num_attention_heads = 4, two names"),
    "layers by two names": (config(num_hidden_layers=4), "n_layer = 1 and num_hidden_layers = 4, two names"),
    "layers not given": (without("n_layer"), "does not say how many layers it has; give n_layer"),
    "unknown": (config(is_causal=False), "has is_causal = False, of which it is not known"),
    "layers of their own": (config(per_layer_config={"0": {}}), "has per_layer_config"),
    "code": (config(auto_map={"AutoModelForCausalLM": "own.Model"}), "has auto_map"),
    "quantised": (config(quantization_config={"bits": 8}), "has quantization_config"),
    "other weights": (config(transformers_weights="other.safetensors"), "has transformers_weights"),
    "heads taken out": (config(pruned_heads={"0": [1]}), "has pruned_heads"),
    "second attention": (config(add_cross_attention=True), "has add_cross_attention = True"),
    "a classifier's class": (config(architectures=["GPT2ForSequenceClassification"]), "it was saved as"),
    "a head for a task": (add("score.weight", 2, 4), "has score.weight, a head for one task"),
    "a head for tokens": (add("classifier.weight", 2, 4), "has classifier.weight, a head for one task"),
    "a bias that is dropped": (biased_head, "lm_head.bias has no place in gpt2"),
    "no ln_1": (drop("h.0.ln_1"), "the file lacks h.0.ln_1.weight"),
    "no ln_2": (drop("h.0.ln_2"), "the file lacks h.0.ln_2.weight"),
    "no ln_f": (drop("ln_f"), "the file lacks ln_f.weight"),
    "no wpe": (drop("wpe"), "the file lacks wpe.weight"),
    "no feed-forward part": (drop("h.0.mlp"), "the file lacks h.0.mlp.c_fc.weight"),
    "gamma": (rename("ln_f.weight", "ln_f.gamma"), "calls transformer.ln_f.weight transformer.ln_f.gamma"),
    "beta": (rename("ln_f.bias", "ln_f.beta"), "calls transformer.ln_f.bias transformer.ln_f.beta"),
    "module": (rename("transformer.", "module.transformer."), "calls .* module.transformer"),
    "another prefix": (rename("transformer.", "model.transformer."), "begin with 'model.transformer.'"),
    "another mask": (mask, "is not the mask that hides later keys"),
    "tied to another table": (untie, "stores lm_head.weight, and its configuration says that it is"),
    "formats": (mixed, "mixes float16 and float32"),
    "an unknown format": (config(dtype="float8_e4m3fn"), "in the format 'float8_e4m3fn'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_verdict_on_another_model(tmp_path, monkeypatch, name):
    """What transformers would load as another function is refused in a sentence, without transformers."""
    monkeypatch.setattr(own_code, "find_spec", lambda _: None)
    arrange, sentence = REFUSED[name]
    with pytest.raises((CheckpointError, AssumptionError), match=sentence):
        asked(arranged(tmp_path / "m", arrange))


def test_two_names_of_one_tensor(tmp_path):
    """A gain by its older and its newer name is refused, and neither taken."""
    with pytest.raises(CheckpointError, match="two names of one tensor"):
        asked(arranged(tmp_path / "m", add("transformer.ln_f.gamma", 8)))


@pytest.mark.parametrize("adapter", ["adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"])
def test_an_adapter_beside_a_model(tmp_path, adapter):
    """With peft installed from_pretrained adds an adapter that lies beside the weights."""
    (arranged(tmp_path / "m") / adapter).write_text("{}")
    with pytest.raises(CheckpointError, match="holds an adapter"):
        asked(tmp_path / "m")


def test_the_file_that_transformers_takes(tmp_path):
    """An index of safetensors files goes before pytorch_model.bin; a format that an index states is refused."""
    folder = arranged(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    names = load_file(folder / "part.safetensors")
    index = {"weight_map": dict.fromkeys(names, "part.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    assert asked(folder).lengths[0].status == "PROVED"
    index["metadata"] = {"dtype": "float16"}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="has a dtype of its own"):
        asked(folder)


@pytest.mark.parametrize("field", ["dtype", "torch_dtype"])
@pytest.mark.parametrize(("stated", "unit"), [("float16", 2**-11), ("bfloat16", 2**-8)])
def test_weights_are_rounded_as_they_are_loaded(tmp_path, field, stated, unit):
    """transformers rounds weights to the format that the configuration names: nearest, ties to even."""
    ties = np.array([1 + unit, 1 + 3 * unit, 1 + unit * (1 + 2**-10), -1 - unit, 0], np.float32)

    def arrange(tensors, settings):
        tensors["transformer.wte.weight"][:, 0] = ties
        settings[field] = stated

    checkpoint = load_checkpoint(arranged(tmp_path / "m", arrange))
    wanted = [1, 1 + 4 * unit, 1 + 2 * unit, -1, 0]
    assert checkpoint.embedding.tokens[:, 0].tolist() == wanted
    assert checkpoint.number_formats == (stated,)
    with pytest.raises(CheckpointError, match="holds NaN or infinity"):
        _ = in_memory({"w": np.full(2, 1e39)})["w"].loaded_as(stated).numbers()


@pytest.mark.extra("torch")
@pytest.mark.parametrize("stored", ["float64", "float32", "float16"])
@pytest.mark.parametrize("stated", ["float64", "float32", "float16", "bfloat16"])
def test_rounding_is_torchs(stored, stated):
    """Every number of every magnitude is the one torch makes of it."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    numbers = (rng.normal(size=20000) * 2.0 ** rng.integers(-30, 12, size=20000)).astype(stored)
    wanted = torch.from_numpy(numbers).to(getattr(torch, stated)).double().numpy()
    assert np.array_equal(in_memory({"w": numbers})["w"].loaded_as(stated).numbers(), wanted)


LENS_REFUSED = {
    "final_rms": (True, "final_rms = True"),
    "positional_embedding_type": ("shortformer", "positional_embedding_type = 'shortformer'"),
    "eps": (-1, "give a number ≥ 0 as eps"),
    "attn_scale": (-2.0, "give a number > 0 as attn_scale"),
    "normalization_type": ("LayerNorm", "normalization_type = 'LayerNorm'"),
    "attention_dir": ("forward", "attention_dir = 'forward'"),
    "use_qk_norm": (True, "use_qk_norm = True"),
    "num_experts": (2, "has num_experts = 2"),
    "original_architecture": ("Olmo2ForCausalLM", "has original_architecture = 'Olmo2ForCausalLM'"),
    "attn_only": (True, "has blocks.0.ln2.w, which its configuration has no place for"),
    "gated_mlp": (True, "lacks blocks.0.mlp.W_gate"),
    "norm": ("rms", "has norm = 'rms'"),
    "causal": (False, "has causal = False"),
}


@pytest.mark.parametrize("setting", LENS_REFUSED)
def test_settings_of_transformer_lens(setting):
    """A setting that TransformerLens heeds and we do not, or one that it does not know, is refused."""
    value, sentence = LENS_REFUSED[setting]
    verdict(load_checkpoint(lens_arrays(), config=LENS))
    with pytest.raises(CheckpointError, match=sentence):
        verdict(load_checkpoint(lens_arrays(), config={**LENS, setting: value}))


@pytest.mark.parametrize("missing", ["blocks.0.ln1", "ln_final", "pos_embed", "blocks.0.mlp"])
def test_parts_of_transformer_lens(missing):
    """A missing norm, position table or feed-forward part is not a model without it."""
    arrays = {name: array for name, array in lens_arrays().items() if not name.startswith(missing)}
    with pytest.raises(CheckpointError, match=f"the file lacks {missing}"):
        verdict(load_checkpoint(arrays, config=LENS))


def test_formats_and_masks_of_transformer_lens():
    """Double precision is rounded unless the configuration has it; a stored mask is the lower triangle."""
    double = {name: array.astype(np.float64) for name, array in lens_arrays().items()}
    verdict(load_checkpoint(double, config={**LENS, "dtype": "float64"}))
    with pytest.raises(CheckpointError, match="has float64 weights, which are rounded to float32"):
        verdict(load_checkpoint(double, config=LENS))
    stored = lens_arrays() | {"blocks.0.attn.mask": np.tri(9, dtype=bool), "blocks.0.attn.IGNORE": np.array(-np.inf)}
    stored["blocks.0.attn.IGNORE"] = stored["blocks.0.attn.IGNORE"].astype(np.float32)
    verdict(load_checkpoint(stored, config=LENS))
    for name, other in (("mask", np.ones((9, 9), dtype=bool)), ("IGNORE", np.zeros((), np.float32))):
        with pytest.raises(CheckpointError, match="is not the mask"):
            verdict(load_checkpoint({**stored, f"blocks.0.attn.{name}": other}, config=LENS))


def verdict(checkpoint):
    """Ask for a model that could be proved; whatever stands in the way of a proof is raised."""
    framed_model(checkpoint, Frame((0, 1), after=(2,)), 3, *logit_difference(checkpoint, 1, 0))
    return checkpoint


def test_without_transformers_it_is_said(tmp_path, monkeypatch):
    """The answer says whether the reading was compared, in its record and on the screen."""
    monkeypatch.setattr(own_code, "find_spec", lambda _: None)
    found = asked(arranged(tmp_path / "m"))
    assert found.compared == own_code.NOT_COMPARED
    assert own_code.NOT_COMPARED in str(found)


@pytest.mark.extra("transformers")
def test_a_reading_is_compared_and_refused_where_it_differs(tmp_path, monkeypatch):
    """Words are compared with transformers; one number read as its neighbour is refused before anything is proved."""
    transformers = pytest.importorskip("transformers")
    folder = arranged(tmp_path / "m")
    assert asked(folder).compared.endswith(f"transformers {transformers.__version__} on 32 words")
    assert "does not load it" in asked(arranged(tmp_path / "other", vocab_size=77)).compared
    prepared = own_code.prepare

    def misread(checkpoint, **more):
        model = prepared(checkpoint, **more)
        model.layers[0].feedforward.outer.bias[0] += 1e-6
        return model

    monkeypatch.setattr(own_code, "prepare", misread)
    with pytest.raises(CheckpointError, match=r"answers the tokens .* with logits that differ by"):
        asked(folder, samples=11)


ANYTHING = (None, True, False, 0, 1, 2.0, -1, "rms", "relu", [], {}, [1], {"0": 1})
GPT2_FIELDS = {
    "layer_norm_epsilon": (1e-12, 1e-3, 0.5, 1.0, 2.0, 50.0, 0.0, -1.0, "1e-5", None),
    "layer_norm_eps": (1e-3, 2.0), "eps": (0.5,), "rms_norm_eps": (1e-3,),
    "activation_function": ("relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_python", "silu", "tanh",
                            "quick_gelu", "relu2", "linear", "", None),
    "hidden_act": ("relu", "gelu"), "act_fn": ("relu",), "norm": ("rms", "layer", "batch"),
    "normalization_type": ("RMS", "LN", None), "positional_embedding_type": ("rotary", "alibi", "standard"),
    "scale_attn_weights": (True, False, 1), "scale_attn_by_inverse_layer_idx": (True, False),
    "reorder_and_upcast_attn": (True, False), "attn_scale": (3.0,), "n_inner": (None, 16, 24),
    "dtype": ("float16", "bfloat16", "float32", "float64", None), "torch_dtype": ("float16", "bfloat16", "float32"),
    "num_attention_heads": (1, 2, 4), "n_heads": (4,), "num_hidden_layers": (1, 2), "hidden_size": (4, 8),
    "tie_word_embeddings": (True, False, None, 0), "is_decoder": (True, False), "use_cache": (True, False),
    "add_cross_attention": (True, False), "is_encoder_decoder": (True, False), "is_causal": (True, False),
    "pruned_heads": ({}, {"0": [0]}), "sliding_window": (2,), "layer_types": (["sliding_attention"],),
    "attn_pdrop": (0.5,), "resid_pdrop": (0.9,), "embd_pdrop": (0.9,), "output_attentions": (True,),
    "return_dict": (True, False), "torchscript": (True,), "chunk_size_feed_forward": (2,), "n_ctx": (3,),
    "architectures": (["GPT2Model"], ["GPT2ForSequenceClassification"], [], None), "attention_dir": ("bidirectional",),
    "causal": (False,), "head_dim": (2, 4), "rope_theta": (100.0,), "attn_implementation": ("eager", "sdpa"),
    "_attn_implementation": ("eager",), "per_layer_config": ({"0": {"layer_norm_epsilon": 1.0}},),
    "vocab_size": (5, 9), "n_positions": (12, 20), "max_position_embeddings": (12, 5), "use_bfloat16": (True,),
    "_num_labels": (3,), "output_past": (True,), "xla_device": (True,),
    "initializer_range": (9.0,), "num_labels": (3,), "eos_token_id": (1,), "pad_token_id": (0,), "prefix": ("a",),
    "temperature": (9.0,), "gradient_checkpointing": (True,), "auto_map": ({"AutoConfig": "own.Config"},),
    "a_stranger": ANYTHING, "use_return_dict": (False,), "name_or_path": ("x",), "qk_norm": (True,),
}  # fmt: skip


def cast(kind, *names):
    """Store tensors whose names hold one of these in another format."""

    def arrange(tensors, _):
        for name in tensors:
            if not names or any(part in name for part in names):
                tensors[name] = tensors[name].astype(kind)

    return arrange


def short(tensors, _):
    """The names of a model saved without its head."""
    rename("transformer.", "")(tensors, _)


def own_head(tensors, settings):
    """An unembedding of its own that differs from the token table, and is not tied to it."""
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"][::-1].copy()
    settings["tie_word_embeddings"] = False


def same_head(tensors, _):
    """The token table stored twice."""
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"].copy()


def without_biases(tensors, _):
    """Leave out every bias, which transformers then sets to 0."""
    for name in [name for name in tensors if name.endswith(".bias")]:
        del tensors[name]


ARRANGEMENTS = (
    drop("h.0.ln_1"), drop("h.0.ln_2"), drop("ln_f"), drop("ln_f.bias"), drop("h.0.ln_1.weight"), drop("wpe"),
    drop("h.0.mlp"), drop("h.0.mlp.c_fc.bias"), drop("h.0.attn.c_attn.bias"), drop("h.0.attn.c_proj.bias"), drop("wte"),
    biased_head, add("lm_head.bias", 5), add("score.weight", 2, 8), add("classifier.bias", 2), causal_mask, mask,
    untie, mixed, add("transformer.h.0.attn.masked_bias"), add("stranger", 3), add("transformer.ln_f.gamma", 8),
    rename("ln_f.weight", "ln_f.gamma"), rename("ln_1.bias", "ln_1.beta"), rename("transformer.", "model."),
    rename("transformer.", "module.transformer."), rename("transformer.wte", "wte"), rename("transformer.ln_f", "ln_f"),
    rename("lm_head", "transformer.lm_head"), short,
    cast(np.float16), cast(np.float64), cast(np.float16, "wte"), cast(np.float64, "ln_"), own_head, same_head,
    without_biases,
)  # fmt: skip
LENS_FIELDS = {
    "eps": (1e-12, 1e-3, 1.0, 1.5, 50.0, 0.0, -1.0), "normalization_type": ("LN", "LNPre", "RMS", "RMSPre", None, "x"),
    "act_fn": ("relu", "gelu", "gelu_new", "gelu_fast", "silu", "gelu_pytorch_tanh", "solu", "relu2", "solu_ln", None),
    "final_rms": (True, False), "positional_embedding_type": ("standard", "rotary", "shortformer", "alibi", "none"),
    "attention_dir": ("causal", "bidirectional", "forward"), "attn_only": (True, False), "gated_mlp": (True, False),
    "attn_scale": (-1.0, 2.0, 0.5, -2.0, 0.0), "use_attn_scale": (True, False), "use_attn_result": (True,),
    "scale_attn_by_inverse_layer_idx": (True, False),
    "attn_scores_soft_cap": (-1.0, 1.0), "output_logits_soft_cap": (-1.0, 0.5), "use_local_attn": (True, False),
    "window_size": (2,), "attn_types": (["local"],), "parallel_attn_mlp": (True, False), "use_qk_norm": (True, False),
    "post_embedding_ln": (True, False), "use_normalization_before_and_after": (True, False), "clip_qkv": (0.1, None),
    "use_logn_attn": (True, False), "train_seq_length": (2,), "use_attention_sinks": (True, False),
    "n_key_value_heads": (1, 2, None), "dtype": ("float16", "float32", "float64"), "d_vocab_out": (5, 1, 3),
    "original_architecture": ("neel", "GPT2LMHeadModel", "Olmo2ForCausalLM", "BloomForCausalLM", "OlmoeForCausalLM"),
    "tie_word_embeddings": (True, False), "use_attn_in": (True,), "use_split_qkv_input": (True,),
    "use_hook_mlp_in": (True,), "ungroup_grouped_query_attention": (True,), "default_prepend_bos": (False,),
    "uses_rms_norm": (True,), "layer_norm_folding": (True,), "seed": (3,), "init_mode": ("xavier_uniform",),
    "num_experts": (2, None), "experts_per_token": (1, None), "load_in_4bit": (False,), "norm_topk_prob": (True,),
    "use_yarn_rope": (True,), "rotary_dim": (2,), "d_mlp": (8, 12), "norm": ("rms",), "causal": (True,),
    "n_heads": (2, 4), "relative_attention_num_buckets": (4,), "a_stranger": (1,), "layer_norm_eps": (0.5,),
}  # fmt: skip


def drawn_fields(rng, fields):
    """Up to three fields with one of their values each."""
    names = rng.choice(list(fields), size=rng.integers(0, 4), replace=False)
    return {str(name): fields[name][rng.integers(len(fields[name]))] for name in names}


def compared(read, theirs):
    """Both functions on a few words: agree, refused by us, refused by the library itself, or different."""
    words = [np.array(word) for word in ([0, 1, 1, 3], [1, 0, 0, 3], [2, 1, 0, 3], [1, 1, 1, 3])]
    try:
        checkpoint = verdict(read())
        model = prepare(checkpoint)
        ours = [checkpoint.unembedding(model.run(model.embed(word)[None])[0]) for word in words]
    except (CheckpointError, AssumptionError, keyhole.errors.DataError):
        return "refused"
    try:
        wanted = [theirs(word) for word in words]
    except Exception:  # noqa: BLE001  (another package's refusal, of whatever kind)
        return "the library refuses"
    scale = 1 + max(np.abs(each).max() for each in wanted)
    near = all(np.abs(one - two).max() <= 1e-10 * scale for one, two in zip(ours, wanted, strict=True))
    return "agree" if near else "different"


@pytest.mark.extra("transformers")
@pytest.mark.filterwarnings("ignore")  # they are the other package's
def test_no_random_gpt2_is_another_model(tmp_path):
    """Of random settings and files each is read as transformers loads it, or refused, or refused by transformers."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    counts, folder = Counter(), tmp_path / "m"
    for case in range(CASES):
        rng = np.random.default_rng([SEED, case])
        fields = drawn_fields(rng, GPT2_FIELDS)
        chosen = rng.choice(len(ARRANGEMENTS), size=rng.choice(3, p=(0.4, 0.4, 0.2)), replace=False)

        def arrange(tensors, settings, fields=fields, chosen=chosen):
            for index in chosen:
                with suppress(AssertionError, KeyError):  # what was to be changed is gone
                    ARRANGEMENTS[index](tensors, settings)
            settings.update(fields)

        arranged(folder, arrange, scale=float(rng.choice([0.3, 1, 3])), heads=int(rng.choice([1, 2])))

        def theirs(word):
            model = transformers.AutoModelForCausalLM.from_pretrained(str(folder), local_files_only=True)
            with torch.no_grad():
                return model.double().eval()(torch.from_numpy(word)[None], return_dict=True).logits[0].numpy()

        outcome = compared(lambda: load_checkpoint(folder), theirs)
        counts[outcome] += 1
        assert outcome != "different", (SEED, case, fields, chosen)
    print(f"GPT-2, seed {SEED}:", dict(counts))  # noqa: T201  (for who asked for more cases)
    assert counts["agree"] > CASES // 20
    assert counts["refused"] > CASES // 20


@pytest.mark.extra("transformer-lens")
@pytest.mark.filterwarnings("ignore")  # they are the other package's
def test_no_random_hooked_transformer_is_another_model():
    """The same of TransformerLens: its configuration beside its own state, whose tensors come and go."""
    torch, lens = pytest.importorskip("torch"), pytest.importorskip("transformer_lens")
    if not hasattr(lens, "HookedTransformer"):
        pytest.skip("TransformerLens 4 is installed, and these are the names of version 3")
    counts = Counter()
    for case in range(CASES):
        rng = np.random.default_rng([SEED, case])
        sizes = {"n_layers": 1, "d_model": 6, "n_ctx": 9, "d_head": 3, "n_heads": 2, "d_mlp": 8, "d_vocab": 5}
        settings = {**sizes, **LENS, "device": "cpu", **drawn_fields(rng, LENS_FIELDS)}

        def built(settings=settings):
            kind = {"dtype": getattr(torch, settings["dtype"])} if "dtype" in settings else {}
            return lens.HookedTransformer(lens.HookedTransformerConfig.from_dict({**settings, **kind}))

        kept = settings if rng.random() < 0.7 else {**sizes, **LENS, "device": "cpu"}  # whose tensors are stored
        try:
            state = {name: tensor.detach() for name, tensor in built(kept).state_dict().items()}
        except Exception:  # noqa: BLE001  (another package's refusal, of whatever kind)
            state = {name: torch.from_numpy(array) for name, array in lens_arrays().items()}
        for name, tensor in state.items():
            if tensor.is_floating_point() and tensor.ndim and "rotary" not in name:
                state[name] = torch.from_numpy(rng.normal(size=tuple(tensor.shape))).to(tensor.dtype)
        if rng.random() < 0.2:
            del state[str(rng.choice(list(state)))]
        if rng.random() < 0.1:
            state = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in state.items()}

        def theirs(word, state=state, built=built):
            model = built()
            model.load_state_dict(state)
            model = model.double().eval()
            model.cfg.dtype = torch.float64  # or its norms compute in single precision
            with torch.no_grad():
                return model(torch.from_numpy(word)[None], prepend_bos=False)[0].numpy()

        arrays = {name: tensor.numpy() for name, tensor in state.items()}
        outcome = compared(lambda arrays=arrays, settings=settings: load_checkpoint(arrays, config=settings), theirs)
        counts[outcome] += 1
        assert outcome != "different", (SEED, case, settings)
    print(f"TransformerLens, seed {SEED}:", dict(counts))  # noqa: T201  (for who asked for more cases)
    assert counts["agree"] > CASES // 20
    assert counts["refused"] > CASES // 20


@pytest.mark.extra("transformers")
@pytest.mark.filterwarnings("ignore")  # they are the other package's
def test_a_saved_model_leaves_no_doubt(tmp_path):
    """A GPT-2 that transformers saves is proved, with every field of its configuration written out or only some."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.disable_progress_bar()
    sizes = {"n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": len(VOCABULARY), "n_positions": 12}
    config = transformers.GPT2Config(**sizes)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps(VOCABULARY))
    for written in (json.loads((tmp_path / "config.json").read_text()), config.to_dict()):
        (tmp_path / "config.json").write_text(
            json.dumps(written, default=lambda kind: str(kind).removeprefix("torch."))
        )
        found = asked(tmp_path)
        assert found.compared.endswith(f"transformers {transformers.__version__} on 32 words")
