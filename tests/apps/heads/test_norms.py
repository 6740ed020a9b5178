"""Norms of heads are those of the matrices formed in full; controls are what they say; the stand-in is as stated."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.heads.controls import controlled
from keyhole.apps.heads.norms import STATISTICS, distances, head_norms, not_covered, redrawn, shuffled
from keyhole.apps.heads.stand_in import attention_radii, row_radius, stand_in_profile
from keyhole.attention import thin_norms
from keyhole.bounds import DEEP, guarantee
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.checkpoints.checkpoint import RowNorm
from keyhole.errors import AssumptionError, CheckpointError

from helpers import tiny_checkpoints as tiny
from helpers.packaged import packaged
from helpers.tiny_checkpoints import heads_of

FAMILIES = [tiny.bert, tiny.gpt2, tiny.llama]


def direct(matrix):
    """The five statistics of a matrix, from its entries."""
    spectral, frobenius = np.linalg.svd(matrix, compute_uv=False)[0], np.sqrt((matrix**2).sum())
    columns, rows = (np.sqrt((matrix**2).sum(axis=axis)).sum() for axis in (0, 1))
    return {
        "spectral": spectral, "frobenius": frobenius, "columns": columns, "rows": rows,
        "rank": (frobenius / spectral) ** 2,
    }  # fmt: skip


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_thin_products(rows, columns, k, seed):
    """The norms of L Rᵀ without the product are those of the product, whichever side is thin."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(rows, k)), rng.normal(size=(columns, k))
    found, wanted = thin_norms(left, right), direct(left @ right.T)
    for name, value in (
        ("spectral", found.spectral),
        ("frobenius", found.frobenius),
        ("columns", found.columns21),
        ("rows", found.rows21),
        ("rank", found.stable_rank),
    ):
        assert value == pytest.approx(wanted[name], rel=1e-9)


def test_a_matrix_of_zeros_has_no_rank():
    """Zeros have norms 0 and stable rank 0, and nothing is divided by 0."""
    found = thin_norms(np.zeros((4, 2)), np.ones((3, 2)))
    assert (*found, found.stable_rank) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_norms_are_those_of_the_matrices(family):
    """Every statistic of every head is that of M = W_K W_Qᵀ/√k and W_OV = W_V W_O, formed in full."""
    arrays, config = family()
    checkpoint = load_checkpoint(arrays, config=config)
    found = head_norms(checkpoint).trained
    assert [(each.layer, each.head) for each in found] == [
        (layer, head) for layer in range(2) for head in range(checkpoint.sizes.heads)
    ]
    for each in found:
        head = checkpoint.layers[each.layer].heads[each.head]
        score = direct(head.key @ head.query.T / np.sqrt(checkpoint.sizes.head_width))
        value = direct(head.value @ head.output)
        for name in STATISTICS:
            matrix, _, kind = name.partition("-")
            assert each[name] == pytest.approx((score if matrix == "qk" else value)[kind], rel=1e-9), name


def test_controls():
    """The shuffle keeps the entries of each matrix and moves them; the random control has its deviation, and a seed."""
    head = load_checkpoint(heads_of(width=40, k=30)).layers[0].heads[0]
    rng = np.random.default_rng(0)
    permuted, drawn = shuffled(head, rng), redrawn(head, 0.5, 1.0, rng)
    for name in ("query", "key", "value", "output"):
        before, after = getattr(head, name), getattr(permuted, name)
        assert np.array_equal(np.sort(before, axis=None), np.sort(after, axis=None))
        assert not np.array_equal(before, after)
        assert getattr(drawn, name).shape == before.shape
        assert getattr(drawn, name).std() == pytest.approx(0.5, rel=0.1)  # 1,200 draws: 5 deviations of the estimate
    arrays, config = tiny.bert()
    told = load_checkpoint(arrays, config=config | {"initializer_range": 0.5})
    assert head_norms(told).deviation == 0.5
    assert head_norms(told, seed=3) == head_norms(told, seed=3)
    assert head_norms(told, seed=3).random != head_norms(told, seed=4).random


@pytest.mark.parametrize(("family", "share"), [(tiny.bert, 1.0), (tiny.llama, 1.0), (tiny.gpt2, 0.5)])
def test_random_controls_start_as_the_family_starts(family, share):
    """GPT-2 starts what writes to the rows smaller by √(2·layers); two untrained layers are like it."""
    arrays, config = family()
    checkpoint = load_checkpoint(arrays, config=config | {"initializer_range": 0.5})
    assert checkpoint.sizes.layers == 2
    assert checkpoint.output_share == pytest.approx(share)
    model = controlled(prepare(checkpoint), "random")
    parts = [layer.attention for layer in model.layers]
    inner, outer = (np.concatenate([getattr(part, name).ravel() for part in parts]) for name in ("query", "output"))
    assert outer.std() / inner.std() == pytest.approx(share, rel=0.4)  # 100 draws or more of each: 4 deviations
    rng = np.random.default_rng(0)
    wide = load_checkpoint(heads_of(width=40, k=30)).layers[0].heads[0]
    drawn = redrawn(wide, 0.5, checkpoint.output_share, rng)
    assert drawn.output.std() == pytest.approx(0.5 * share, rel=0.1)


def test_distances():
    """How far a head moved is the Frobenius norm of the difference over that of the first, and 0 from itself."""
    (before, config), (after, _) = tiny.llama(seed=0), tiny.llama(seed=1)
    one, two = (load_checkpoint(arrays, config=config) for arrays in (before, after))
    assert max(max(each[2:]) for each in distances(one, one)) < 1e-7
    for layer, number, score, value in distances(one, two):
        first, later = one.layers[layer].heads[number], two.layers[layer].heads[number]
        M, M2 = (head.key @ head.query.T for head in (first, later))
        V, V2 = (head.value @ head.output for head in (first, later))
        assert score == pytest.approx(np.linalg.norm(M2 - M) / np.linalg.norm(M))
        assert value == pytest.approx(np.linalg.norm(V2 - V) / np.linalg.norm(V))
    with pytest.raises(CheckpointError, match="has other sizes than"):
        distances(one, load_checkpoint(*tiny.llama(layers=1)[:1], config=tiny.llama(layers=1)[1]))


@given(st.sampled_from(["layer", "rms"]), st.integers(2, 12), st.integers(0, 10**6))
def test_rows_after_a_norm_are_bounded(kind, width, seed):
    """No row leaves the ball that is stated, and with equal gains, no bias and ε → 0 a row reaches its edge."""
    rng = np.random.default_rng(seed)
    norm = RowNorm(kind, rng.normal(size=width), rng.normal(size=width), 1e-5)
    rows = rng.normal(size=(50, width)) * np.exp(rng.normal(size=(50, 1)) * 3)
    assert np.linalg.norm(norm(rows), axis=1).max() <= row_radius(norm, width)
    plain = RowNorm(kind, np.full(width, 3.0), None, 1e-15)
    assert np.linalg.norm(plain(rows), axis=1).max() == pytest.approx(row_radius(plain, width), rel=1e-6)
    assert row_radius(RowNorm("centred", None, None, 1e-5), width) is None
    assert row_radius(None, width) is None


def test_radii_of_layers():
    """A pre-norm layer sees rows after its own norm, a post-norm layer after the one before; without norms: refused."""
    arrays, config = tiny.gpt2()
    gains = [np.abs(arrays[f"h.{i}.ln_1.weight"]).max() for i in range(2)]
    shifts = [np.linalg.norm(arrays[f"h.{i}.ln_1.bias"]) for i in range(2)]
    wanted = [np.sqrt(12) * gain + shift for gain, shift in zip(gains, shifts, strict=True)]
    assert attention_radii(load_checkpoint(arrays, config=config)) == pytest.approx(wanted)
    arrays, config = tiny.bert()
    names = ("bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.beta"), (
        "bert.encoder.layer.0.output.LayerNorm.weight", "bert.encoder.layer.0.output.LayerNorm.bias",
    )  # fmt: skip
    wanted = [np.sqrt(12) * np.abs(arrays[gain]).max() + np.linalg.norm(arrays[shift]) for gain, shift in names]
    assert attention_radii(load_checkpoint(arrays, config=config)) == pytest.approx(wanted)
    with pytest.raises(AssumptionError, match="Nothing bounds the rows that the attention of layer 1 sees"):
        attention_radii(load_checkpoint(heads_of()))


def test_the_stand_in_is_a_deep_model_in_the_unit_ball():
    """Its score norms are B² those of the heads and its values those of W_OV; Theorem D takes it, for every layer."""
    arrays, config = tiny.bert()
    checkpoint = load_checkpoint(arrays, config=config)
    heads = head_norms(checkpoint).trained
    profile = stand_in_profile(checkpoint, heads, 129)
    for block, radius, index in zip(profile.blocks, attention_radii(checkpoint), range(2), strict=True):
        own = [head for head in heads if head.layer == index]
        for norms, head in zip(block.heads, own, strict=True):
            assert norms.score.frobenius == pytest.approx(radius**2 * head["qk-frobenius"])
            assert norms.value.columns21 == pytest.approx(head["ov-columns"])
        assert block.residual
    assert (profile.token_radius, profile.readout, profile.projected, profile.tokens) == (1.0, 1.0, True, 129)
    assert guarantee(DEEP, profile, 1e6).vacuous
    small = tuple(
        replace(
            head,
            **{part: type(head.score)(*(1e-6 * each for each in getattr(head, part))) for part in ("score", "value")},
        )
        for head in heads
    )
    assert not guarantee(DEEP, stand_in_profile(checkpoint, small, 129), 1e6).vacuous


@pytest.mark.slow
def test_all_heads_of_minilm():
    """The norms of all 72 heads are those of W_QK and W_OV formed from the stored tensors, in seconds of CPU."""
    from safetensors.numpy import load_file

    from keyhole.apps.heads.packages import packaged_folder

    checkpoint = packaged("minilm")
    begun = time.process_time()
    found = head_norms(checkpoint).trained
    assert time.process_time() - begun < 10  # a third of a second on one quiet thread
    stored = load_file(packaged_folder("minilm") / "model.safetensors")
    assert len(found) == 72
    for each in found:
        here = f"encoder.layer.{each.layer}.attention"
        rows = slice(32 * each.head, 32 * (each.head + 1))
        query, key, value = (
            stored[f"{here}.self.{name}.weight"].astype(np.float64)[rows] for name in ("query", "key", "value")
        )
        output = stored[f"{here}.output.dense.weight"].astype(np.float64)[:, rows]
        score, written = query.T @ key / np.sqrt(32), output @ value  # W_QK and W_OV as they act on columns
        for name, matrix, turned in (("qk", score.T, score), ("ov", written.T, written)):
            assert each[f"{name}-frobenius"] == pytest.approx(np.linalg.norm(matrix), rel=1e-9)
            assert each[f"{name}-columns"] == pytest.approx(np.linalg.norm(matrix, axis=0).sum(), rel=1e-9)
            assert each[f"{name}-rows"] == pytest.approx(np.linalg.norm(turned, axis=0).sum(), rel=1e-9)
            if each.head in (0, 7):
                assert each[f"{name}-spectral"] == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-9)


def test_what_norms_leave_out():
    """Each part that norms of the matrices do not see is named where the model has it."""
    arrays, config = tiny.llama()
    left = {each.what for each in not_covered(load_checkpoint(arrays, config={**config, "sliding_window": 4}))}
    assert left > {"RMSNorm gains", "rotary positions", "feed-forward parts", "a sliding window"}
    assert len(left) == 5
    assert not_covered(load_checkpoint(heads_of())) == ()
