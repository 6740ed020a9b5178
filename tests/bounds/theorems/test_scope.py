"""What a theorem speaks of: trained embeddings and positions are paid for, LayerNorm has a place, rivals are fair."""

import json
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from keyhole.api.bound import bound
from keyhole.api.norm_sources import NormSource
from keyhole.bounds import (
    DEEP,
    LISTS,
    PATH,
    PRODUCT_LISTS,
    SCALAR,
    TABULATED,
    Loss,
    guarantee,
    hypothetical,
    pair_construction,
)
from keyhole.bounds.construction_norms import matrix
from keyhole.bounds.finite.identification import identification_size
from keyhole.bounds.theorems.path import unit_heads
from keyhole.bounds.theorems.rival_bounds import parameters, rivals
from keyhole.errors import AssumptionError, DataError
from keyhole.files.norms import dumps, parse_norms
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile

SPEAKS_OF_VECTORS = (SCALAR, PATH, DEEP)
FITTED = 65_536  # rows of the table in `memory`


def conjunction():
    """One head with every norm known, and a law of inputs."""
    return replace(pair_construction("and", 100, 3), least_probability=0.5)


def memory():
    """One token of one of 65,536 symbols, whose vector is the number ±1: the read-out returns the vector itself."""
    one = matrix(1, 1, spectral=1.0, frobenius=1.0, columns21=1.0)
    none = matrix(1, 1, spectral=0.0, frobenius=0.0, columns21=0.0)
    return NormProfile(
        blocks=(BlockNorms((HeadNorms(none, one, query=0.0),)),), tokens=2, readout=1.0, token_radius=1.0,
        query_radius=1.0, token_diameter=2.0, symbols=FITTED, path=1.0,
    )  # fmt: skip


def memorised_gap(samples, seed=0):
    """The gap of the loss |y − f|/2 for random labels, each symbol's vector being the sign its samples vote for.

    A table of signs that is fitted to labels of fair coins errs on half of fresh inputs.
    """
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(samples, np.full(FITTED, 1 / FITTED))
    ones = rng.binomial(counts, 0.5)
    return 0.5 - float(np.minimum(ones, counts - ones).sum()) / samples


def test_a_trained_table_is_not_a_fixed_one():
    """A fitted table of 65,536 signs has a gap of .0725 at m = 1,966,080; P, S and D say so or pay for it."""
    samples = 1_966_080
    gap = memorised_gap(samples)
    assert gap == pytest.approx(0.0725, abs=5e-4)
    fixed, trained = memory(), replace(memory(), embedding11=float(FITTED + 1))
    loss = Loss(0.5)  # |y − f|/2 is ½-Lipschitz
    assert guarantee(PATH, fixed, samples, loss=loss).value < gap  # a bound for vectors that were fixed
    for route in SPEAKS_OF_VECTORS:
        assert any("token vectors" in line for line in guarantee(route, fixed, samples).valid_if)
        assert not any("token vectors" in line for line in guarantee(route, trained, samples).valid_if)
        assert guarantee(route, trained, samples, loss=loss).value > gap


@pytest.mark.parametrize("name", ["positions11", "embedding11"])
@pytest.mark.parametrize("route", SPEAKS_OF_VECTORS, ids=lambda route: route.key)
def test_trained_codes_are_paid_for(route, name):
    """A larger table of positions or of tokens moves S, P and D, is peeled, and is no condition any more."""
    asked = [guarantee(route, replace(conjunction(), **{name: size}), 1e16) for size in (None, 1.0, 500.0)]
    values = [found.value for found in asked]
    assert values[0] < values[1] < values[2]
    assert name in {way for dial in route.dials(asked[2].profile) for way in dial.way}
    told = {"positions11": "position codes were fixed", "embedding11": "token vectors were fixed"}[name]
    assert [any(told in line for line in found.valid_if) for found in asked] == [True, False, False]


@pytest.mark.parametrize("name", ["positions11", "embedding11"])
def test_theorems_t_and_l_need_no_price_for_codes(name):
    """Trained tokens and positions are inside the tables."""
    for route in (TABULATED, LISTS, PRODUCT_LISTS):
        plain = guarantee(route, conjunction(), 1e6)
        assert guarantee(route, replace(conjunction(), **{name: 500.0}), 1e6).value == plain.value


def test_the_price_of_codes_by_hand():
    """D: the codes are an error of the rows that enter, times ‖w‖ and the Lipschitz constants; terms as written."""
    from keyhole.bounds.covers.deep import block_lipschitz, deep_cover
    from keyhole.bounds.covers.heads import scalar_model_cover

    profile = replace(conjunction(), positions11=7.0)
    (term,) = [term for term in deep_cover(profile, 1e6).terms if "positions" in term.name]
    assert term.weight == pytest.approx(profile.readout * block_lipschitz(profile.blocks[0], profile, 1.0))
    assert term.scale == pytest.approx(sqrt(2) * 7.0)
    tokens = replace(conjunction(), embedding11=7.0)
    (term,) = [term for term in scalar_model_cover(tokens, 1e6).terms if "token" in term.name]
    head = profile.blocks[0].heads[0]
    moved = head.value.spectral * (1 + sqrt(2) / 2 * (head.query + head.score.spectral))
    assert term.weight == pytest.approx(profile.readout * moved)


def test_the_price_of_codes_in_theorem_p_by_hand():
    """2P times the least of R_m(G) at diameter D_X + 2ε, ε(1 + Q D_X/2) and √(2⌈(B/ε)²⌉ ln(2Td+1)/m), ε = 2^{−k/4}."""
    profile, m = replace(conjunction(), positions11=5.0), 1e14
    Q, d = profile.blocks[0].heads[0].query, profile.blocks[0].heads[0].value.rows
    accuracies = 2.0 ** (-np.arange(200) / 4)
    nats = np.ceil((5 / accuracies) ** 2 - 1e-9) * np.log(2 * 100 * d + 1)
    chains = np.array([unit_heads(Q, 1.0, min(2.0, sqrt(2) + 2 * each), 101, m).value for each in accuracies])
    whole = (chains + accuracies * (1 + Q * sqrt(2) / 2) + np.sqrt(2 * nats / m)).min()
    assert PATH.complexity(profile, m).value == pytest.approx(2 * profile.path * whole, rel=1e-6)


@pytest.mark.slow
def test_moving_all_rows_moves_the_head_as_the_price_of_token_vectors_says():
    """Tokens and query moved by ε move the pooled token by at most (1 + B_X(‖Mz‖ + ‖M‖₂B_X))ε, at times near it."""
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(2000):
        X, z, M = in_ball(rng, (4, 2), 1.0), in_ball(rng, (1, 2), 1.0)[0], rng.normal(size=(2, 2)) * 2
        size = float(rng.uniform(0, 0.1))
        Y, y = (inside(rows + in_ball(rng, rows.shape, size)) for rows in (X, z[None, :]))
        change = np.linalg.norm(X.T @ softmax(X @ M @ z) - Y.T @ softmax(Y @ M @ y[0]))
        allowed = (1 + np.linalg.norm(M @ z) + np.linalg.norm(M, 2)) * size
        largest = max(largest, change / allowed)
    assert 0.3 < largest <= 1


def in_ball(rng, shape, radius):
    """Random rows of norm at most the radius."""
    rows = rng.normal(size=shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * radius * rng.uniform(0, 1, (shape[0], 1)) ** 0.5


def inside(rows):
    """Rows projected on the unit ball."""
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))


def softmax(scores):
    """Weights of scores."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def test_a_layernorm_has_a_place():
    """Before attention it is inside the tables of Theorems T and L; after it they refuse; covers refuse both."""
    for place, applies in (("before", True), ("after", False)):
        profile = conjunction()
        blocks = (replace(profile.blocks[0], layernorm=place),)
        profile = replace(profile, blocks=blocks, path=None)
        for route in (TABULATED, LISTS, PRODUCT_LISTS):
            if applies:
                assert guarantee(route, profile, 1e6).value > 0
            else:
                with pytest.raises(AssumptionError, match="LayerNorm stands after attention"):
                    guarantee(route, profile, 1e6)
        for route in (SCALAR, DEEP):
            with pytest.raises(AssumptionError, match="a LayerNorm"):
                guarantee(route, profile, 1e6)
        with pytest.raises(AssumptionError, match="a LayerNorm"):
            guarantee(PATH, replace(profile, path=3.0), 1e6)


def test_a_layernorm_in_a_file():
    """A word says where it stands; true, which does not, is read as after; another word is refused."""
    record = json.loads(dumps(conjunction()))
    del record["schema"]
    read = {}
    for word in ("none", "before", "after", False, True):
        record["blocks"][0]["layernorm"] = word
        read[word] = parse_norms(record).blocks[0].layernorm
    assert read == {"none": "none", "before": "before", "after": "after", False: "none", True: "after"}
    record["blocks"][0]["layernorm"] = "around"
    with pytest.raises(DataError, match="none, before or after"):
        parse_norms(record)


def values_of(profile, **asked):
    """The rivals that are bounds, by key."""
    return {rival.key: rival.value for rival in rivals(profile, 1e6, **asked) if rival.kind == "bound"}


def test_rivals_are_peeled_where_norms_were_measured():
    """Rivals by norms are larger for measured ones; not those that count bits, nor R3, at a tenth of its range."""
    plain, measured = values_of(conjunction()), values_of(conjunction(), measured=True)
    counted = {"R3", "R11", "description", "McAllester", "Catoni"}
    for key, value in plain.items():
        assert measured[key] == value if key in counted else measured[key] > value, key
    shown = {rival.key: rival.value for rival in bound(NormSource("norms", conjunction(), measured=True), 1e6).rivals}
    assert all(shown[key] == value for key, value in measured.items())


OUTSIDE = {
    "a LayerNorm": {"layernorm": "before"},
    "an inner matrix": {"hidden": matrix(3, 3, spectral=1.0, frobenius=1.0, columns21=1.0)},
    "a constant": {"biased": True},
    "a residual": {"residual": True},
    "two residuals": {"residual": True, "split_residual": True},
}
NORMS = ("R2", "R8", "R8ᵀ", "R9", "R10", "counting")


@pytest.mark.parametrize("part", OUTSIDE)
def test_rivals_do_not_speak_of_what_they_do_not_count(part):
    """A bound by norms that knows no such part has no number there, and says why."""
    profile = conjunction()
    profile = replace(profile, blocks=(replace(profile.blocks[0], **OUTSIDE[part]),))
    found = {rival.key: rival for rival in rivals(profile, 1e6)}
    assert all(found[key].value is None and found[key].remark for key in NORMS)


def test_trained_codes_count_among_the_rivals():
    """Trained positions and tokens are parameters; covers of parameters and parameter counting do not speak of them."""
    profile = conjunction()
    plain = parameters(profile)
    width = profile.blocks[0].heads[0].value.rows
    assert parameters(replace(profile, positions11=1.0)) == plain + 100 * width
    assert parameters(replace(profile, embedding11=1.0)) == plain + 201 * width  # a vector per pair, for all one knows
    assert parameters(replace(profile, embedding11=1.0, positions11=1.0)) == plain + (3 + 100) * width
    assert parameters(replace(profile, readout_bias=1.0)) == plain + 1
    hidden = matrix(5, 7, spectral=1.0, frobenius=1.0, columns21=1.0)
    inner = replace(profile, blocks=(replace(profile.blocks[0], hidden=hidden),))
    assert parameters(inner) > plain + 35 - 1
    for name in ("positions11", "embedding11"):
        found = {rival.key: rival for rival in rivals(replace(profile, **{name: 1.0}), 1e6)}
        assert found["R10"].value is None
        assert found["counting"].value is None
    for flags in ({"layernorm": "before"}, {"biased": True}):
        normed = replace(profile, blocks=(replace(profile.blocks[0], **flags),))
        with pytest.raises(AssumptionError, match="are not counted"):
            parameters(normed)


def test_the_general_theorem_doubles_the_constant_it_finds():
    """R2 is our calculus with twice the normaliser's own constant, which is 0 for uniform attention."""
    profile = hypothetical(tokens=101, value21=2.0, value=1.0, score=5.0, width=4)
    uniform = replace(profile, normaliser="uniform", normaliser_constant=0.0)
    found = {rival.key: rival.value for rival in rivals(uniform, 1e6)}
    from keyhole.bounds.covers.heads import scalar_model_cover

    assert found["R2"] == pytest.approx(scalar_model_cover(uniform, 1e6).capacity)


def test_identification_has_its_rule():
    """With every pattern seen 107 samples identify a function of 3 of 1,000 positions, without that 192."""
    numbers = [each.value for each in bound("and:3", 1e6, 1000).finite_classes if each.name.startswith("ident")]
    assert numbers == [107, 192]
    assert identification_size(1000, 3, witnessed=False) == 192
    crude = [each for each in bound("parity:4", 1e6, 100).finite_classes if each.name.startswith("ident")]
    assert len(crude) == 1
