"""The forward pass in batches is the plain one, head by head; what it does not know, it refuses."""

import numpy as np
import pytest

from keyhole.apps.heads.head_statistics import filled
from keyhole.apps.heads.images import patches
from keyhole.apps.heads.model_source import open_checkpoint
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.errors import CheckpointError, DataError, MissingError

from helpers import tiny_checkpoints as tiny
from helpers.plain_forward import run

FAMILIES = {"bert": tiny.bert, "gpt2": tiny.gpt2, "llama": tiny.llama}


def load(family, **more):
    """A tiny checkpoint."""
    arrays, config = family()
    return load_checkpoint(arrays, config={**config, **more})


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("single", [False, True])
def test_a_batch_is_its_inputs_one_by_one(family, single):
    """Maps and last rows of inputs of several lengths in one batch are those of the plain forward pass of each."""
    checkpoint = load(FAMILIES[family])
    model, maps = prepare(checkpoint, single=single), []
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, tiny.SYMBOLS, size=length) for length in (3, 9, 6)]
    rows, visible = filled([model.embed(text) for text in texts])
    last = model.run(rows, visible, look=lambda _, seen: maps.append(seen))
    near = {"rtol": 0, "atol": 2e-4 if single else 1e-10}
    assert last.dtype == (np.float32 if single else np.float64)
    for number, text in enumerate(texts):
        wanted, seen = run(checkpoint, text)
        length = len(text)
        assert np.allclose(last[number, :length], wanted, **near)
        for layer, told in enumerate(seen):
            assert np.allclose(maps[layer][number, :, :length, :length], told, **near)
            assert not maps[layer][number, :, :length, length:].any()


def test_a_stock_encoder():
    """A stock encoder has rows for inputs, and no tokens."""
    checkpoint = load(tiny.encoder, norm_first=True, causal=False, activation="relu")
    model = prepare(checkpoint)
    rows = np.random.default_rng(0).normal(size=(5, tiny.D))
    assert np.allclose(model.run(model.embed_features(rows)[None])[0], run(checkpoint, rows)[0], rtol=0, atol=1e-10)
    with pytest.raises(DataError, match="reads no tokens"):
        model.embed(np.array([1, 2]))


def test_positions_move_with_tokens():
    """An encoder's rows are permuted with (token, position) pairs, and are not with tokens alone."""
    model = prepare(load(tiny.bert))
    tokens, order = np.array([3, 5, 7, 9, 11]), np.array([4, 2, 0, 1, 3])
    plain = model.run(model.embed(tokens)[None])[0]
    both = model.run(model.embed(tokens[order], positions=order)[None])[0]
    assert np.allclose(both, plain[order], rtol=0, atol=1e-12)
    alone = model.run(model.embed(tokens[order])[None])[0]
    assert np.abs(alone - plain[order]).max() > 1e-3


@pytest.mark.parametrize(
    ("family", "more", "told"),
    [
        (tiny.llama, {"rope_scaling": {"factor": 2.0}}, "rope_scaling"),
        (tiny.llama, {"partial_rotary_factor": 0.5}, "a part of each head"),
        (tiny.bert, {"hidden_act": "mish"}, "the activation mish"),
        (tiny.encoder, {}, "placement and causal"),
    ],
)
def test_refusals(family, more, told):
    """What our forward pass does not know is refused, and not guessed."""
    with pytest.raises(CheckpointError, match=told):
        prepare(load(family, **more))


def test_inputs_that_do_not_fit():
    """Unknown tokens, too many positions, features for tokens and keys beyond a window are refused in a sentence."""
    model = prepare(load(tiny.bert))
    with pytest.raises(DataError, match="use its own tokenizer"):
        model.embed(np.array([0, tiny.SYMBOLS]))
    with pytest.raises(DataError, match="cut the input"):
        model.embed(np.zeros(tiny.PLACES + 1, dtype=np.int64))
    with pytest.raises(DataError, match="reads tokens"):
        model.embed_features(np.zeros((3, tiny.D)))
    windowed = prepare(load(tiny.llama, sliding_window=4))
    with pytest.raises(DataError, match="hides keys beyond 4"):
        windowed.run(np.zeros((1, 5, tiny.D)))
    with pytest.raises(DataError, match="squares of side 3"):
        patches(np.zeros((1, 1, 4, 4)), 3)


@pytest.mark.extra("torch")
def test_the_packaged_sentence_encoder():
    """Where MiniLM's package is installed: every map and the last rows are those of transformers' eager attention."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    try:
        checkpoint = open_checkpoint("minilm")
    except MissingError as error:
        pytest.skip(str(error))
    model = transformers.AutoModel.from_pretrained(checkpoint.source, attn_implementation="eager").eval()
    tokens = np.random.default_rng(0).integers(1000, 20000, size=40)
    maps = []
    ours = prepare(checkpoint)
    last = ours.run(ours.embed(tokens)[None], look=lambda _, seen: maps.append(seen))
    with torch.no_grad():
        told = model(input_ids=torch.tensor(tokens[None]), output_attentions=True)
    assert max(np.abs(one - two.numpy()).max() for one, two in zip(maps, told.attentions, strict=True)) <= 1e-5
    assert np.abs(last - told.last_hidden_state.numpy()).max() <= 1e-4
