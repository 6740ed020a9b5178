"""Each family is read right: our plain forward pass of what was read is that of transformers and of torch."""

import numpy as np
import pytest

from keyhole.checkpoints import load_checkpoint, prepare

from helpers.plain_forward import run

SMALL = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
TEXT = SMALL | {"vocab_size": 17, "max_position_embeddings": 16}
GROUPED = TEXT | {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4}
FAMILIES = {
    "bert": ("BertConfig", "BertModel", TEXT),
    "roberta": ("RobertaConfig", "RobertaModel", TEXT),
    "electra": ("ElectraConfig", "ElectraModel", TEXT | {"embedding_size": 8}),
    "distilbert": ("DistilBertConfig", "DistilBertModel", {"dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 20}),
    "albert": (
        "AlbertConfig",
        "AlbertModel",
        TEXT | {"embedding_size": 8, "num_hidden_layers": 4, "num_hidden_groups": 2},
    ),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 12, "n_layer": 2, "n_head": 3, "vocab_size": 17}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", GROUPED),
    "mistral": ("MistralConfig", "MistralForCausalLM", GROUPED),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED | {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", GROUPED | {"head_dim": 6}),
    "vit": ("ViTConfig", "ViTForImageClassification", SMALL | {"image_size": 6, "patch_size": 2}),
    "deit": ("DeiTConfig", "DeiTModel", SMALL | {"image_size": 6, "patch_size": 2}),
}


def forward(checkpoint, inputs):
    """All maps and the last rows by the library's own forward pass."""
    model, maps = prepare(checkpoint), []
    rows = model.embed(inputs) if inputs.ndim == 1 else model.embed_features(inputs)
    last = model.run(rows[None], look=lambda _, seen: maps.append(seen[0]))
    return np.stack(maps), last[0]


@pytest.mark.extra("torch")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("stored", ["safetensors", "sharded", "torch", "older torch", "float64"])
def test_equal_to_transformers(tmp_path, family, stored):
    """The last rows, all attention maps and the logits of a random model, from its files, are those of transformers."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    config, kind, settings = FAMILIES[family]
    config = getattr(transformers, config)(**settings, attn_implementation="eager")
    model = getattr(transformers, kind)(config).eval()
    for parameter in model.parameters():  # so that no gain is 1 and no bias is 0
        torch.nn.init.normal_(parameter, std=0.3)
    model = model.double() if stored == "float64" else model
    if stored in ("torch", "older torch"):
        config.save_pretrained(tmp_path)
        zipped = stored == "torch"
        torch.save(model.state_dict(), tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    else:
        model.save_pretrained(tmp_path, max_shard_size="4KB" if stored == "sharded" else "1GB")
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.unknown == ()
    checkpoint.require_complete()
    rng = np.random.default_rng(1)
    if family in ("vit", "deit"):
        image = rng.normal(size=(3, 6, 6))
        patches = image.reshape(3, 3, 2, 3, 2).transpose(1, 3, 0, 2, 4).reshape(9, 12)
        inputs, given = patches, {"pixel_values": torch.tensor(image[None])}
    else:
        inputs = rng.integers(3, 17, size=7)
        given = {"input_ids": torch.tensor(inputs[None])}
    with torch.no_grad():
        told = model.double()(**given, output_attentions=True, output_hidden_states=True)
    rows, maps = run(checkpoint, inputs)
    near = {"rtol": 0, "atol": 1e-5}
    assert np.allclose(maps, np.stack([each[0].numpy() for each in told.attentions]), **near)
    ours, model_rows = forward(checkpoint, inputs)
    assert np.allclose(ours, maps, rtol=0, atol=1e-9)
    assert np.allclose(model_rows, rows, rtol=0, atol=1e-9)
    if hasattr(told, "logits"):
        asked = rows[0] if family == "vit" else rows
        assert np.allclose(checkpoint.unembedding(asked), told.logits[0].numpy(), rtol=0, atol=1e-4)
    else:
        assert np.allclose(rows, told.last_hidden_state[0].numpy(), **near)


@pytest.mark.extra("torch")
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_equal_to_torch(tmp_path, norm_first, bias, single):
    """A stock nn.TransformerEncoder, and one of its layers: the packed matrix is split into the right heads."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        12, 3, 20, activation="gelu", batch_first=True, norm_first=norm_first, bias=bias
    )
    final = None if bias else torch.nn.LayerNorm(12)
    model = layer if single else torch.nn.TransformerEncoder(layer, 2, norm=final, enable_nested_tensor=False)
    model = model.double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    path = tmp_path / "encoder.pt"
    torch.save({"model": model.state_dict(), "epoch": 3}, path)
    described = {"nhead": 3, "norm_first": norm_first, "activation": "gelu", "causal": False}
    checkpoint = load_checkpoint(path, config=described)
    checkpoint.require_complete()
    inputs = np.random.default_rng(1).normal(size=(7, 12))
    rows, maps = run(checkpoint, inputs)
    with torch.no_grad():
        wanted = model(torch.tensor(inputs[None]))[0].numpy()
    ours, model_rows = forward(checkpoint, inputs)
    assert np.allclose(ours, maps, rtol=0, atol=1e-12)
    assert np.allclose(model_rows, wanted, rtol=0, atol=1e-12)
    assert maps.shape == (1 if single else 2, 3, 7, 7)
    assert np.allclose(rows, wanted, rtol=0, atol=1e-12)


@pytest.mark.extra("torch")
@pytest.mark.parametrize("number_format", ["bfloat16", "float16"])
@pytest.mark.parametrize("stored", ["safetensors", "torch", "older torch"])
def test_half_precision(tmp_path, number_format, stored):
    """Every number of a half-precision file is the number torch reads from it, exactly."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    torch.manual_seed(0)
    kind = getattr(torch, number_format)
    state = {f"blocks.0.attn.W_{name}": torch.randn(2, 6, 3).to(kind) for name in "QKV"}
    state["blocks.0.attn.W_O"] = torch.randn(2, 3, 6).to(kind)
    path = tmp_path / ("model.safetensors" if stored == "safetensors" else "model.pt")
    if stored == "safetensors":
        save_file(state, path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=stored == "torch")
    checkpoint = load_checkpoint(path)
    assert checkpoint.number_formats == (number_format,)
    for index, head in enumerate(checkpoint.layers[0].heads):
        for name, part in (("Q", head.query), ("K", head.key), ("V", head.value), ("O", head.output)):
            assert np.array_equal(part, state[f"blocks.0.attn.W_{name}"][index].double().numpy())
