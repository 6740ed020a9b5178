"""An embedding is a vector per (position, symbol), any block of which can be had by itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention.positions import LearnedPositions, OneHotPositions, SignCodes
from keyhole.attention.tokens import AdditiveEmbedding, OneHotPairs, PairEmbedding, embed_tokens
from keyhole.errors import ShapeError

LIKE = np.zeros(())
seeds = st.integers(0, 2**128 - 1)


@given(seeds, st.integers(1, 700), st.lists(st.integers(0, 10**9), min_size=1, max_size=4), st.integers(1, 5))
def test_sign_codes_are_the_same_in_any_block_and_order(seed, width, places, length):
    """Row t is one and the same, alone, within any block, and whatever was asked before."""
    codes = SignCodes(10**9 + 10, width, seed=seed)
    blocks = {place: codes.rows(place, place + length, LIKE) for place in places}
    for place in reversed(places):
        alone = [codes.rows(place + i, place + i + 1, LIKE)[0] for i in range(length)]
        np.testing.assert_array_equal(blocks[place], np.array(alone))


@given(seeds, st.integers(1, 300), st.integers(0, 10**12))
def test_sign_codes_have_unit_length(seed, width, place):
    """Every coordinate is ±1/√d, so ‖p_t‖ = 1."""
    row = SignCodes(10**12 + 1, width, seed=seed).rows(place, place + 1, LIKE)[0]
    assert set(np.abs(row)) == {1 / math.sqrt(width)}


def test_sign_codes_are_nearly_orthogonal_and_fair():
    """Hoeffding: |⟨p_t, p_t'⟩| ≤ Δ for all pairs with probability ≥ 1 − T² e^(−dΔ²/2), here 1 − 10⁻⁹."""
    T, d = 200, 3000
    delta = math.sqrt(2 / d * math.log(T**2 * 1e9))
    codes = SignCodes(T, d, seed=11).rows(0, T, LIKE)
    gram = codes @ codes.T - np.eye(T)
    assert np.abs(gram).max() <= delta
    assert np.abs(gram).max() > delta / 4  # independent signs do meet: identical-by-design codes would not
    # columns too: a bit of the counter that never moved would show as a column of equal signs
    assert np.abs((codes * math.sqrt(d)).mean(axis=0)).max() <= math.sqrt(2 / T * math.log(2 * d * 1e9))


def test_seeds_give_different_codes():
    """Two seeds, two codes."""
    one, two = (SignCodes(4, 256, seed=seed).rows(0, 4, LIKE) for seed in (0, 1))
    assert np.abs(one - two).max() > 0


def test_sign_codes_are_the_bits_of_the_keyed_counter():
    """Coordinate c of row t is the sign of bit c of the generator's answer, keyed by the seed, at count t."""
    row = SignCodes(8, 70, seed=7).rows(5, 6, LIKE)[0] > 0
    words = np.random.Philox(key=7, counter=5).random_raw(2).tolist()
    assert row.tolist() == [not (words[c // 64] >> c % 64) & 1 for c in range(70)]
    assert "".join("+" if sign else "-" for sign in row[:16]) == "--++-++-+-++---+"


def test_one_hot_positions_are_orthonormal():
    """⟨p_t, p_t'⟩ = 1[t = t']."""
    codes = OneHotPositions(5, 7)
    rows = np.concatenate([codes.rows(0, 2, LIKE), codes.rows(2, 5, LIKE)])
    np.testing.assert_array_equal(rows @ rows.T, np.eye(5))


RNG = np.random.default_rng(3)
TABLE = RNG.normal(size=(3, 6))
EMBEDDINGS = [
    PairEmbedding(RNG.normal(size=(5, 3, 6)), RNG.normal(size=6)),
    OneHotPairs(5, 3, LIKE),
    AdditiveEmbedding(TABLE, LearnedPositions(RNG.normal(size=(5, 6))), RNG.normal(size=6)),
    AdditiveEmbedding(TABLE, SignCodes(5, 4, seed=2), RNG.normal(size=6)),
    AdditiveEmbedding(TABLE, OneHotPositions(5, 5), RNG.normal(size=6)),
]
NAMES = ["pair", "one-hot pairs", "learned", "signs", "one-hot"]


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=NAMES)
def test_images_are_those_of_the_rows(embedding, monkeypatch):
    """The short cut of `image` equals every row times W, whatever the block size."""
    weight = RNG.normal(size=(embedding.width, 2))
    expected = embedding.rows(0, 5) @ weight
    np.testing.assert_allclose(embedding.image(weight), expected, rtol=1e-12, atol=1e-14)
    monkeypatch.setattr("keyhole.attention.tokens.BLOCK", 1)  # now a block is one position
    assert len(embedding.blocks()) == 5
    np.testing.assert_allclose(embedding.image(weight), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=NAMES)
def test_rows_of_a_sequence(embedding):
    """Row t is the vector of (t, b_t), and [CLS] is last; blocks of rows join without a seam."""
    sequence = np.array([2, 0, 1, 1, 2])
    table = np.concatenate([embedding.rows(0, 2), embedding.rows(2, 5)])
    expected = [*(table[t, a] for t, a in enumerate(sequence)), embedding.cls]
    np.testing.assert_array_equal(embed_tokens(embedding, sequence), np.array(expected))
    np.testing.assert_array_equal(embed_tokens(embedding, sequence[None])[0], embed_tokens(embedding, sequence))


def test_additive_is_token_plus_position():
    """x_t = p_t + e_a, the code in the first coordinates and nothing beside it."""
    codes = SignCodes(5, 4, seed=2)
    expected = np.pad(codes.rows(1, 2, LIKE)[0], (0, 2)) + TABLE[2]
    np.testing.assert_array_equal(EMBEDDINGS[3].rows(1, 2)[0, 2], expected)


def test_one_hot_pairs_are_numbered_in_order():
    """x_t = e_(tA + b_t), x_CLS = e_(TA)."""
    embedding = OneHotPairs(2, 3, LIKE)
    np.testing.assert_array_equal(embedding.rows(1, 2)[0], np.eye(7)[3:6])
    np.testing.assert_array_equal(embedding.cls, np.eye(7)[6])


def test_a_million_positions_cost_a_row():
    """One row of a long context is had without the others."""
    embedding = AdditiveEmbedding(TABLE, SignCodes(10**12, 6, seed=1), TABLE[0])
    assert embedding.rows(10**12 - 1, 10**12).shape == (1, 3, 6)


BAD = [
    (lambda: OneHotPositions(5, 4), "need as many coordinates"),
    (lambda: SignCodes(0, 4), "at least one position"),
    (lambda: SignCodes(3, 4, seed=-1), "a seed is a whole number"),
    (lambda: LearnedPositions(np.ones(3)), "positions has shape"),
    (lambda: LearnedPositions(np.full((2, 2), np.nan)), "positions holds NaN"),
    (lambda: OneHotPairs(0, 2, LIKE), "context of length 0 is empty"),
    (lambda: OneHotPairs(3, 1, LIKE), "at least two symbols"),
    (lambda: AdditiveEmbedding(TABLE, SignCodes(3, 7), TABLE[0]), "do not fit into tokens of width 6"),
    (lambda: AdditiveEmbedding(TABLE[:1], SignCodes(3, 6), TABLE[0]), "at least two symbols"),
    (lambda: AdditiveEmbedding(TABLE, SignCodes(3, 6), TABLE[0, :2]), "cls has shape"),
]


@pytest.mark.parametrize(("ask", "words"), BAD, ids=[words for _, words in BAD])
def test_what_is_no_embedding_is_refused(ask, words):
    """Empty contexts, single symbols and codes that do not fit are refused in one sentence."""
    with pytest.raises(ShapeError, match=words):
        ask()
