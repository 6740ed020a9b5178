"""Norms of weights equal their dense definitions, and those of Construction A the table of the theory."""

import itertools
import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention.evaluation import evaluate
from keyhole.attention.forward_pass import forward
from keyhole.attention.layers import GELU, Affine, FeedForward, Identity, LayerNorm, ReLU
from keyhole.attention.normalisers import Softmax, Sparsemax
from keyhole.attention.norms import profile, table_profile, units_of
from keyhole.attention.positions import SignCodes
from keyhole.attention.score import DenseScore, FactoredScore
from keyhole.attention.tables import tabulate
from keyhole.attention.tokens import AdditiveEmbedding, OneHotPairs, PairEmbedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring, matrix_norms, product_norms
from keyhole.errors import AssumptionError
from keyhole.norm_profile import require_possible

from helpers.paper_models import query_score, tf_block, tf_scalar
from helpers.random_models import Plan, deeper, plans, random_model, random_sequences

NAMES = ["spectral", "frobenius", "columns21", "rows21", "entries11"]
RNG = np.random.default_rng(9)


def dense_norms(matrix):
    """The definitions, written out."""
    return {
        "spectral": math.sqrt(np.linalg.eigvalsh(matrix.T @ matrix).max()),
        "frobenius": math.sqrt(sum(entry**2 for entry in matrix.flat)),
        "columns21": sum(math.sqrt(column @ column) for column in matrix.T),
        "rows21": sum(math.sqrt(row @ row) for row in matrix),
        "entries11": sum(abs(entry) for entry in matrix.flat),
    }


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 7), st.integers(1, 7))
def test_norms_are_their_definitions(seed, rows, columns, thin):
    """Whole or as a product of thin factors; ‖·‖₂ ≤ ‖·‖_F ≤ ‖·‖_{2,1} ≤ ‖·‖_{1,1}."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(rows, thin)), rng.normal(size=(columns, thin))
    product = left @ right.T
    expected = dense_norms(product)
    for norms in (matrix_norms(product), product_norms(left, right)):
        assert (norms.rows, norms.columns) == product.shape
        assert {name: getattr(norms, name) for name in NAMES} == pytest.approx(expected, rel=1e-11)
        slack = 1 + 1e-12
        assert norms.spectral <= norms.frobenius * slack <= norms.columns21 * slack**2
        assert norms.columns21 <= norms.entries11 * slack
        assert norms.rows21 <= norms.entries11 * slack


def test_factored_norms_by_the_trace():
    """‖W_K W_Qᵀ‖_F² = trace((W_KᵀW_K)(W_QᵀW_Q)), in d_h × d_h numbers."""
    left, right = RNG.normal(size=(2, 50, 3))
    trace = np.trace((left.T @ left) @ (right.T @ right))
    assert product_norms(left, right).frobenius == pytest.approx(math.sqrt(trace), rel=1e-12)


@pytest.mark.slow
def test_factored_norms_never_form_the_product(monkeypatch):
    """No array as large as the product occurs: the (1,1) norm, which needs every entry, goes by blocks."""
    left, right = RNG.normal(size=(2, 3000, 2))
    largest = []
    plain = np.abs
    monkeypatch.setattr(np, "abs", lambda array: largest.append(array.size) or plain(array))
    norms = product_norms(left, right)
    monkeypatch.undo()
    assert norms.entries11 == pytest.approx(np.abs(left @ right.T).sum(), rel=1e-12)
    assert max(largest) <= 1024 * 3000


def test_a_rank_one_trap():
    """For M = q eᵀ the column norm is ‖q‖₂ and the row norm ‖q‖₁: which is which matters."""
    q, e = np.array([3.0, 4.0, 0.0]), np.array([0.0, 0.0, 1.0])
    norms = product_norms(q[:, None], e[:, None])
    assert (norms.columns21, norms.rows21) == (pytest.approx(5.0), pytest.approx(7.0))


# Construction A by hand: pair embedding, I = {0, …, s−1}, mass γ off I; W_V reads the coordinates of I alone.


def construction_a(T, s, target, gamma=0.5):
    """The weights of Construction A: score vector, columns, read-out."""
    beta = math.log((T + 1 - s) * (1 - gamma) / (s * gamma))
    a = (1 - gamma) / s
    embedding = OneHotPairs(T, 2, np.zeros(()))
    q = np.zeros(2 * T + 1)
    q[: 2 * s] = beta

    def column(zero, one):
        full = np.zeros(2 * T + 1)
        full[0 : 2 * s : 2], full[1 : 2 * s : 2] = zero, one
        return full

    def pattern(c):
        c = np.asarray(c)
        return column(np.where(c == 0, 1 / s, -(s - 1) / s), np.where(c == 1, 1 / s, -(s - 1) / s))

    if target == "and":
        columns, w = [pattern([1] * s)], [1 / a]
    elif target == "junta":
        cells = list(itertools.product([0, 1], repeat=s))
        columns, w = [pattern(c) for c in cells], [(-1) ** sum(c) / a for c in cells]
    else:
        lines = [column(-j / s, 1 - j / s) for j in range(s)]
        steps = [-2.0] + [4.0 * (-1) ** (j + 1) for j in range(1, s)]
        columns, w = [column(1 / s, 1 / s), *lines], [x / a for x in (1.0, *steps)]
    value = np.stack(columns, axis=1)
    return tf_scalar(embedding, [(query_score(q, embedding.cls), value)], np.array(w))


# ‖M‖_F, ‖W_V‖_{2,1}, ‖W_V‖_2, ‖w‖, width, path norm P: the norm table of the theory, to its three decimals
TABLE = {
    (100, 2, "and"): (7.804, 1.000, 1.000, 4.000, 1, 4.000),
    (100, 2, "parity"): (7.804, 3.414, 1.732, 18.330, 3, 31.314),
    (100, 2, "junta"): (7.804, 4.000, 1.414, 8.000, 4, 16.000),
    (100, 3, "and"): (8.540, 1.291, 1.291, 6.000, 1, 7.746),
    (100, 3, "parity"): (8.540, 5.131, 2.303, 36.497, 4, 87.651),
    (100, 3, "junta"): (8.540, 10.328, 2.000, 16.971, 8, 61.968),
    (100, 5, "and"): (9.344, 1.844, 1.844, 10.000, 1, 18.439),
    (100, 5, "parity"): (9.344, 9.781, 3.640, 83.066, 6, 327.555),
    (100, 5, "junta"): (9.344, 59.005, 5.367, 56.569, 32, 590.051),
    (1000, 3, "and"): (14.225, 1.291, 1.291, 6.000, 1, 7.746),
    (1000, 3, "parity"): (14.225, 5.131, 2.303, 36.497, 4, 87.651),
    (1000, 3, "junta"): (14.225, 10.328, 2.000, 16.971, 8, 61.968),
}
P_INF = {"and": lambda s: 2 * max(1, s - 1), "junta": lambda s: 2**s * max(1, s - 1) * 2}


@pytest.mark.parametrize(("T", "s", "target"), TABLE)
def test_construction_a_has_the_norms_of_the_theory(T, s, target):
    """The measured profile is the theory's row, and exact where the theory has a closed form."""
    model = construction_a(T, s, target)
    found = profile(model)
    head = found.blocks[0].heads[0]
    expected = TABLE[T, s, target]
    row = (
        head.score.frobenius,
        head.value.columns21,
        head.value.spectral,
        found.readout,
        head.value.columns,
        found.path,
    )
    assert row == pytest.approx(expected, abs=5.01e-4)  # half a unit of the third decimal
    beta = math.log((T + 1 - s) / s)
    for norm in (head.score.frobenius, head.score.spectral, head.score.columns21, head.query):
        assert norm == pytest.approx(beta * math.sqrt(2 * s), rel=1e-12)
    assert head.score.rows21 == pytest.approx(2 * s * beta, rel=1e-12)
    assert (found.tokens, found.symbols, found.spread) == (T + 1, 2, 0.0)
    assert (found.token_radius, found.query_radius, found.token_diameter) == (1.0, 1.0, math.sqrt(2))
    if target in P_INF:
        assert found.path_inf == pytest.approx(P_INF[target](s), rel=1e-12)
    assert found.readout_nonnegative == (target == "and")


@given(plans)
def test_layers_without_units_are_told_apart(plan):
    """`odd_units` is said of a model, and of its tables, exactly if nothing but linear maps follows attention."""
    plan = replace(plan, norms=False, final_norm=False, projected=False)
    model = random_model(plan)
    assert profile(model).odd_units == table_profile(tabulate(model)).odd_units == (not plan.feedforward)
    assert not profile(random_model(replace(plan, final_norm=True))).odd_units


def test_path_inf_of_parity():
    """Parity, s = 3, γ = ½: P_∞ = 46, below 4s²/(1 − γ) = 72."""
    assert profile(construction_a(100, 3, "parity")).path_inf == pytest.approx(46.0, rel=1e-12)


@pytest.mark.parametrize(("target", "rule"), [("and", min), ("parity", None), ("junta", None)])
def test_construction_a_computes_its_target(target, rule):
    """On all inputs of eight bits, by tables and by the general pass: such norms do this work."""
    model = construction_a(8, 3, target)
    bits = np.array(list(itertools.product([0, 1], repeat=8)))
    expected = bits[:, :3].min(axis=1) if rule else (-1.0) ** bits[:, :3].sum(axis=1)
    np.testing.assert_allclose(evaluate(tabulate(model), bits), expected, atol=1e-13)
    np.testing.assert_allclose(forward(model, bits), expected, atol=1e-13)


def test_the_hand_checked_vector():
    """T = 5, s = 2, γ = ½: β = log 2, ‖M‖_F = 1.3862944, ‖Mᵀ‖_{2,1} = 2.7725887, w = 4."""
    found = profile(construction_a(5, 2, "and"))
    assert found.blocks[0].heads[0].score.frobenius == pytest.approx(1.3862944, abs=5e-8)
    assert found.blocks[0].heads[0].score.rows21 == pytest.approx(2.7725887, abs=5e-8)
    assert found.readout == pytest.approx(4.0)


# Path norms of any model


@given(plans)
def test_units_are_the_model(plan):
    """Without norms after attention, f = Σ_j w_j σ(c_j + Σ_h ⟨E_h[:, j], o_h⟩) + c + Σ_h ⟨l_h, o_h⟩."""
    plan = replace(plan, norms=False, final_norm=False, projected=False)
    model = random_model(plan)
    tabulated = tabulate(model)
    units = units_of(tabulated)
    for sequence in random_sequences(plan, 3):
        outputs = []
        for head in tabulated.heads:
            rows = np.arange(plan.tokens)
            weights = head.normaliser(np.append(head.scores[rows, sequence], head.cls_score))
            outputs.append(weights @ np.concatenate([head.values[rows, sequence], head.cls_value[None]]))
        inside = units.constants + sum(o @ e for o, e in zip(outputs, units.maps, strict=True))
        rest = units.shift + sum(o @ l for o, l in zip(outputs, units.lines, strict=True))
        found = units.weights @ units.activation(inside) + rest
        assert found == pytest.approx(forward(model, sequence), rel=1e-11, abs=1e-11)


@given(plans)
def test_no_input_goes_beyond_the_path_norm(plan):
    """|f(b)| ≤ L_σ P_∞ on every input, since every head's output is an average of its values."""
    plan = replace(plan, norms=False, final_norm=False, projected=False, tokens=min(plan.tokens, 5))
    model = random_model(plan)
    found = profile(model)
    inputs = np.array(list(itertools.product(range(plan.symbols), repeat=plan.tokens)))
    largest = np.abs(evaluate(tabulate(model), inputs)).max()
    assert largest <= found.path_inf * found.activation_lipschitz * (1 + 1e-12)


def test_path_inf_by_hand():
    """Two heads, one symbol-blind, constants and a residual: V_j and P_∞ added up on paper."""
    embedding = PairEmbedding(np.array([[[1.0], [-2.0]], [[0.5], [3.0]]]), np.array([1.0]))
    one, two = (DenseScore(np.array([[x]])) for x in (0.0, 1.0))
    model = tf_scalar(embedding, [(one, np.array([[1.0, -1.0]])), (two, np.array([[2.0, 0.0]]))], np.array([3.0, -1.0]))
    found = profile(model)
    # largest |token| is 3: V = (3 + 6, 3 + 0); P_∞ = 3·9 + 1·3; P = 3·(1 + 2) + 1·(1 + 0)
    assert found.path_inf == pytest.approx(30.0)
    assert found.path == pytest.approx(10.0)
    # scores of the second head are x_CLS·x: position 0 has 1 and −2, position 1 has ½ and 3
    assert found.spread == pytest.approx(3.0)
    assert not found.readout_nonnegative
    smooth = profile(tf_scalar(embedding, [(one, np.array([[1.0, -2.0]]))], np.array([3.0, -1.0]), activation=GELU()))
    assert smooth.path_inf == pytest.approx(4 * 6.0)  # ‖w‖₁ max_j V_j
    assert smooth.path == pytest.approx(4 * 2.0)
    plain = profile(
        tf_scalar(embedding, [(one, np.array([[1.0, -2.0]]))], np.array([3.0, -1.0]), activation=Identity())
    )
    assert plain.path_inf == pytest.approx(3 * 3 + 6.0)  # Σ_j |w_j| V_j, as for ReLU
    assert plain.path == pytest.approx(3 * 1 + 2.0)
    assert smooth.activation_lipschitz == GELU().lipschitz
    after = profile(tf_scalar(embedding, [(one, np.array([[1.0, -2.0]]))] * 2, np.array([3.0, -1.0]), summed="after"))
    assert after.path_inf == pytest.approx(2 * (3 * 3 + 6.0))


def test_constants_and_residuals_by_hand():
    """Residual connections and biases are constants of the units and one more unit without activation."""
    table, w = np.array([[[1.0], [-2.0]], [[0.5], [3.0]]]), np.array([-2.0])
    head = Head(DenseScore(np.zeros((1, 1))), Affine(np.ones((1, 1))))
    first, last = np.array([[2.0, -1.0]]), np.array([[1.0], [3.0]])
    biased = FeedForward(Affine(first, np.array([0.5, -4.0])), ReLU(), Affine(last, np.array([7.0])))
    block = Block((head,), Wiring(feedforward=biased, residual="each"))
    found = profile(Model(PairEmbedding(table, np.ones(1)), (block,), ReadOut(w, np.array(10.0))))
    # x_CLS = 1: c = (2.5, −5), V = (2.5 + 6, 5 + 3), w = (−2, −6); past the units −2·o and 10 − 2 − 14
    assert found.path_inf == pytest.approx(2 * 8.5 + 6 * 8 + 2 * 3 + 6)
    assert found.path is None
    plain = Block((head,), Wiring(feedforward=FeedForward(Affine(first), ReLU(), Affine(last)), residual="each"))
    found = profile(Model(PairEmbedding(table, np.zeros(1)), (plain,), ReadOut(w)))
    assert found.path_inf == pytest.approx(2 * 6 + 6 * 3 + 2 * 3)
    assert found.path == pytest.approx(2 * 2 + 6 * 1 + 2)


def test_temperature_counts_in_the_scores():
    """Scores s/τ spread by R/τ and have every norm over τ, so that the constant of softmax stays 1."""
    model = construction_a(6, 2, "and")
    block = model.blocks[0]
    score = query_score(np.arange(13.0), model.embedding.cls)
    head = replace(block.heads[0], score=score, normaliser=Softmax(0.5))
    found = profile(replace(model, blocks=(replace(block, heads=(head,)),)))
    assert found.spread == pytest.approx(2.0)
    assert (found.normaliser, found.normaliser_constant) == ("softmax", 1.0)
    plain = replace(head, normaliser=Softmax(), score=query_score(2 * np.arange(13.0), model.embedding.cls))
    assert found == profile(replace(model, blocks=(replace(block, heads=(plain,)),)))


@given(plans)
def test_a_profile_is_dense_computation(plan):
    """Every number of the profile against its definition, biases counted as a coordinate that is always 1."""
    model = random_model(plan)
    found, block = profile(model), model.blocks[0]
    require_possible(found)
    d, k, width = plan.width, 3, 3 * plan.heads
    for index, (head, norms) in enumerate(zip(block.heads, found.blocks[0].heads, strict=True)):
        if isinstance(head.score, FactoredScore):
            key = np.vstack([head.score.key, head.score.key_bias])
            matrix = key @ np.vstack([head.score.query, head.score.query_bias]).T / math.sqrt(k)
        else:
            matrix = np.pad(head.score.matrix, ((0, 1), (0, 1)))
        matrix = matrix / head.normaliser.temperature
        after = block.wiring.output.weight
        after = after[k * index : k * index + k] if plan.join == "concatenate" else after
        assert after.shape == (k, d), (index, width)
        value = np.vstack([head.value.weight, head.value.bias]) @ after
        for measured, whole in ((norms.score, matrix), (norms.value, value)):
            assert {n: getattr(measured, n) for n in NAMES} == pytest.approx(dense_norms(whole), rel=1e-9)
        query = block.wiring.enter(model.embedding.cls)
        row = matrix @ np.append(query, 1.0)
        assert norms.query == pytest.approx(np.linalg.norm(row[:-1]), rel=1e-9)
    rows = block.wiring.enter(model.embedding.rows(0, plan.tokens))
    everyone = np.concatenate([rows.reshape(-1, d), block.wiring.enter(model.embedding.cls)[None]])
    assert found.token_radius == pytest.approx(math.sqrt((everyone**2).sum(1).max() + 1), rel=1e-12)
    assert found.query_radius == pytest.approx(math.sqrt((everyone[-1] ** 2).sum() + 1), rel=1e-12)
    apart = [
        np.linalg.norm(x - y)
        for t, u in itertools.combinations(range(plan.tokens), 2)
        for x in rows[t]
        for y in rows[u]
    ] + [np.linalg.norm(x - everyone[-1]) for x in everyone[:-1]]
    assert found.token_diameter == pytest.approx(max(apart), rel=1e-10)
    fed = block.wiring.feedforward
    for measured, part in (
        (found.blocks[0].hidden, fed and fed.inner),
        (found.blocks[0].output, fed and fed.outer),
    ):
        if part is None:
            assert measured is None
        else:
            # the inner map counts its bias as a row; one at the outer map makes the block `biased`, which covers refuse
            whole = np.vstack([part.weight, part.bias]) if part is fed.inner else part.weight
            assert found.blocks[0].biased
            assert {n: getattr(measured, n) for n in NAMES} == pytest.approx(dense_norms(whole), rel=1e-9)
    tables = tabulate(model)
    ranges = [(h.scores.max(1) - h.scores.min(1)).max() / h.normaliser.temperature for h in tables.heads]
    assert found.spread == pytest.approx(max(ranges), rel=1e-12)
    assert found.readout == pytest.approx(np.linalg.norm(model.readout.weight))
    learned = plan.embedding == "learned"
    assert found.positions11 == (pytest.approx(np.abs(model.embedding.positions.table).sum()) if learned else None)
    assert (found.tokens, found.symbols) == (plan.tokens + 1, plan.symbols)


def test_where_theorems_do_not_reach():
    """A norm or a projection after attention, another normaliser, depth: no path norm is claimed."""
    plain = Plan(norms=False)
    assert profile(random_model(plain)).path_inf is not None
    assert profile(random_model(plain)).path is None  # biases are constants, which the ℓ2 path norm does not know
    for plan in (Plan(norms=True), Plan(norms=False, final_norm=True), Plan(norms=False, projected=True)):
        assert profile(random_model(plan)).path_inf is None
    deep = profile(random_model(deeper(plain, 2)))
    assert (deep.path_inf, deep.spread, len(deep.blocks), deep.blocks[1].heads[0].query) == (
        None,
        None,
        2,
        None,
    )
    model = random_model(plain)
    block = model.blocks[0]
    sparse = tuple(replace(head, normaliser=Sparsemax()) for head in block.heads[:1]) + block.heads[1:]
    mixed = profile(replace(model, blocks=(replace(block, heads=sparse),)))
    assert (mixed.path_inf, mixed.normaliser, mixed.normaliser_constant) == (None, "softmax, sparsemax", None)


def test_flags_say_how_the_block_is_built():
    """Residual, LayerNorm and projection are told."""
    found = profile(random_model(Plan(norms=True, residual="each"))).blocks[0]
    assert (found.residual, found.layernorm) == (True, "after")
    embedding = PairEmbedding(RNG.normal(size=(3, 2, 4)), RNG.normal(size=4))
    layer = (DenseScore(np.eye(4)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4)))
    deep = profile(tf_block(embedding, [layer, layer], np.ones(4)))
    assert [(b.residual, b.layernorm) for b in deep.blocks] == [(False, "none")] * 2
    assert deep.projected
    assert deep.blocks[0].output.frobenius == pytest.approx(np.linalg.norm(layer[2]))


def test_a_long_context_has_a_profile():
    """Radii and spread of 20,000 positions need no table of distances; the diameter is then left open."""
    embedding = AdditiveEmbedding(np.eye(2, 32), SignCodes(20_000, 30, seed=4), np.eye(32)[31])
    score = query_score(np.ones(32), embedding.cls)
    found = profile(tf_scalar(embedding, [(score, np.ones((32, 1)))], np.ones(1)))
    assert found.token_diameter is None
    assert found.token_radius <= 2.0
    assert found.tokens == 20_001


@pytest.mark.slow
def test_norms_of_jax_arrays():
    """A profile is made of floats, whatever the arrays were."""
    plan = Plan(norms=False)
    found, expected = profile(random_model(plan, jnp.asarray)), profile(random_model(plan))
    assert isinstance(found.path_inf, float)
    # weights rounded to single precision, 6e-8, some ten of them multiplied
    assert found.path_inf == pytest.approx(expected.path_inf, rel=1e-5)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (Head(lambda x, z: z @ x.T, Affine(np.ones((3, 2)))), "bilinear score"),
        (Head(DenseScore(np.eye(3)), np.tanh), "affine value map"),
        (Head(DenseScore(np.eye(3)), Affine(np.ones((3, 2))), activation=np.tanh), "Lipschitz constant of"),
    ],
)
def test_norms_of_unknown_maps_are_refused(head, words):
    """A general head has tables but no norms."""
    embedding = PairEmbedding(RNG.normal(size=(3, 2, 3)), np.ones(3))
    model = tf_scalar(embedding, [(DenseScore(np.eye(3)), np.ones((3, 2)))], np.ones(2))
    odd = replace(model, blocks=(replace(model.blocks[0], heads=(head,)),), readout=model.readout)
    if head.value is np.tanh:
        odd = replace(odd, readout=replace(model.readout, weight=np.ones(3)))
    with pytest.raises(AssumptionError, match=words):
        profile(odd)


def layer(activation, **wiring):
    """A one-layer model of width 3 with this activation in its head and this wiring."""
    head = Head(DenseScore(np.eye(3)), Affine(RNG.normal(size=(3, 3))), activation=activation)
    embedding = PairEmbedding(RNG.normal(size=(3, 2, 3)), np.ones(3))
    return Model(embedding, (Block((head,), Wiring(**wiring)),), ReadOut(np.ones(3)))


def test_an_activation_keeps_value_and_output_apart():
    """W_V and W_O are one matrix only where nothing stands between them."""
    output = Affine(RNG.normal(size=(3, 3)))
    linear, bent = (layer(activation, output=output) for activation in (Identity(), ReLU()))
    folded = profile(linear).blocks[0]
    assert folded.output is None
    product = linear.blocks[0].heads[0].value.weight @ output.weight
    assert folded.heads[0].value.frobenius == pytest.approx(np.linalg.norm(product))
    apart = profile(bent).blocks[0]
    assert apart.output.frobenius == pytest.approx(np.linalg.norm(output.weight))
    assert apart.heads[0].value.frobenius == pytest.approx(np.linalg.norm(bent.blocks[0].heads[0].value.weight))


@pytest.mark.parametrize(
    ("model", "flag"),
    [
        (replace(layer(ReLU()), readout=ReadOut(np.ones(3), norm=LayerNorm(np.ones(3)))), "layernorm"),
        (layer(Identity(), feedforward=FeedForward(), feedforward_norm=LayerNorm(np.ones(3))), "layernorm"),
        (layer(Identity(), output=Affine(np.eye(3), np.ones(3))), "biased"),
        (layer(Identity(), feedforward=FeedForward(outer=Affine(np.eye(3), np.ones(3)))), "biased"),
        (layer(Identity(), feedforward=FeedForward(), residual="each"), "split_residual"),
    ],
)
def test_what_covers_do_not_speak_of_is_flagged(model, flag):
    """A norm at the read-out, constants after attention and two residuals are told, so that bounds can refuse."""
    assert getattr(profile(model).blocks[0], flag)


def test_two_activations_in_a_row_are_refused():
    """The norms are those of one activation."""
    with pytest.raises(AssumptionError, match="this block has two"):
        profile(layer(ReLU(), feedforward=FeedForward()))


def bias_free_model(seed):
    """A one-layer model of any wiring, without biases, often with [CLS] at 0, so that both path norms are there."""
    rng = np.random.default_rng(seed)

    def pick(among):
        return among[rng.integers(len(among))]

    heads, k, join = int(rng.integers(1, 4)), int(rng.integers(1, 5)), pick(["sum", "concatenate"])
    activation = pick([Identity(), ReLU(), GELU()])
    scales = 10.0 ** rng.uniform(-3, 3, heads)  # heads that differ much

    def matrix(rows, columns):
        """Gaussian, or of equal columns that are positive, so that the inequalities are met and nothing cancels."""
        drawn = rng.normal(size=(rows, columns))
        return np.abs(drawn[:, :1]) + 0 * drawn if rng.random() < 0.5 else drawn

    joined = k * heads if join == "concatenate" else k
    mapped, fed = rng.random() < 0.5, pick(["none", "bare", "inner", "outer", "both"])
    residual = pick(["none", "each", "block"])
    after = int(rng.integers(1, 5)) if mapped else joined
    hidden = int(rng.integers(1, 10)) if fed in {"inner", "both"} else after
    out = int(rng.integers(1, 5)) if fed in {"outer", "both"} else hidden if fed == "inner" else after
    d = out if residual == "block" else after if residual == "each" else int(rng.integers(1, 5))
    out = d if residual == "each" and fed in {"outer", "both"} else out
    if residual == "each" and fed == "inner":
        hidden = out = d
    feedforward = None
    if fed != "none":
        inner = Affine(matrix(after, hidden)) if fed in {"inner", "both"} else None
        feedforward = FeedForward(inner, activation, Affine(matrix(hidden, out)) if fed in {"outer", "both"} else None)
    own = Identity() if feedforward else activation
    made = tuple(Head(DenseScore(matrix(d, d)), Affine(scale * matrix(d, k)), Softmax(), own) for scale in scales)
    wiring = Wiring(join, Affine(matrix(joined, after)) if mapped else None, feedforward, residual)
    cls = np.zeros(d) if rng.random() < 0.5 else rng.normal(size=d)
    embedding = PairEmbedding(rng.normal(size=(3, 2, d)), cls)
    return Model(embedding, (Block(made, wiring),), ReadOut(matrix(out, 1)[:, 0]))


@given(st.integers(0, 10**6))
def test_no_measured_profile_is_refused(seed):
    """Norms measured off a model, with both path norms, never contradict each other."""
    found = profile(bias_free_model(seed))
    assert found.path_inf is not None
    require_possible(found)
