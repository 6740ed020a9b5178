"""Numbers that can be worked out by hand, and the norm table of the constructions."""

from math import log, sqrt

import numpy as np
import pytest

from keyhole.attention import evaluate, forward
from keyhole.boolean.families import conjunction, parity
from keyhole.compiler.assembly import to_model, to_tabulated
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.norms import logit_range, named_norms, plan_profile

from helpers.compiled_plans import all_inputs


def target(plans, name):
    """The plan of one target."""
    return next(plan for plan in plans if plan.construction == name)


def test_pair_conjunction_by_hand():
    """A2 at T = 5, I = (1, 3), γ = ½: β = log 2, a = ¼, one column of ±½, w = 4; exact to the last bit."""
    plan = target(pair_plans(conjunction((1, 3)), 5, 0.5, "bits"), "A2")
    assert plan.parameters["beta"] == pytest.approx(log(2), abs=1e-15)
    assert plan.parameters["attention"] == 0.25
    model = to_model(plan)
    column = np.zeros(11)
    column[[2, 6]], column[[3, 7]] = -0.5, 0.5
    assert np.array_equal(model.blocks[0].heads[0].value.weight[:, 0], column)
    assert plan.readout.tolist() == [4.0]
    assert np.linalg.norm(plan.key_vector(plan.heads[0])) == pytest.approx(1.3862944, abs=1e-7)
    assert named_norms(plan_profile(plan))["score_transposed_21"] == pytest.approx(2.7725887, abs=1e-7)
    bits = all_inputs(5)
    assert np.array_equal(np.round(forward(model, bits), 14), (bits[:, 1] & bits[:, 3]).astype(float))


def test_pair_parity_by_hand():
    """(−1)^S has w = (4, −8, 16); ours reads 1 on odd S, so every sign is turned."""
    plan = target(pair_plans(parity((1, 3)), 5, 0.5, "signs"), "A5")
    assert plan.readout.tolist() == [-4.0, 8.0, -16.0]


def test_additive_conjunction_by_hand():
    """B at T = 6, I = (0, 4), ρ = ½: β = log 8, a = 1/2.625, units (−.6; .4) and (−.8; .2), w = ±5.25."""
    plan = additive_plan(conjunction((0, 4)), 6, 0.5, "bits")  # its constant has weight 0 and is dropped
    assert plan.parameters["beta"] == pytest.approx(log(8), abs=1e-15)
    assert plan.parameters["attention"] == pytest.approx(1 / 2.625, abs=1e-15)
    assert np.allclose(plan.heads[0].rest_values, [[-0.6, -0.8], [0.4, 0.2]], rtol=0, atol=1e-15)
    assert np.allclose(plan.readout, [5.25, -5.25], rtol=0, atol=1e-13)
    bits = all_inputs(6)
    assert np.abs(evaluate(to_tabulated(plan), bits) - (bits[:, 0] & bits[:, 4])).max() < 1e-14


def test_binary_weights_by_hand():
    """B2 at T = 6 on the parity table: a = .2758621, ‖M‖_F = 3.4657359, no step where the table stays."""
    table = parity((0, 4))
    plan = additive_plan(table, 6, 0.5, "signs")
    assert plan.construction == "B1"  # parity counts, so uniform weights do; its table is compiled below
    from keyhole.boolean.function import SparseFunction, Table

    forced = SparseFunction((0, 4), Table(table.table))  # not canonical, on purpose
    plan = additive_plan(forced, 6, 0.5, "signs")
    assert plan.construction == "B2"
    assert plan.parameters["attention"] == pytest.approx(0.2758621, abs=5e-8)
    assert named_norms(plan_profile(plan))["score_frobenius"] == pytest.approx(3.4657359, abs=5e-8)
    assert np.allclose(plan.readout, [-3.625, 14.5, -14.5, -14.5, 14.5], rtol=0, atol=1e-12)


NU = [1, 1, 1.2910, 1.5811, 1.8439, 2.0817]
BETA = [4.6052, 3.9020, 3.4864, 3.1884, 2.9549, 2.7621]
PARITY_21 = [2.4142, 3.4142, 5.1305, 7.2836, 9.7812, 12.5737]
PARITY_READOUT = [4.4721, 18.3303, 36.4966, 58.2409, 83.0662, 110.6345]
JUNTA_SPECTRAL = [1, 1.4142, 2, 2.8284, 5.3666, 9.2376]


@pytest.mark.parametrize("s", range(1, 7))
def test_pair_norms_at_one_hundred(s):
    """ν_s, β, parity's ‖W_V‖_{2,1} and ‖w‖, and the full table's ‖W_V‖₂, at T = 100 and γ = ½."""
    places = tuple(range(s))
    plans = pair_plans(parity(places), 100, 0.5, "signs")
    assert plans[0].parameters["beta"] == pytest.approx(BETA[s - 1], abs=5e-5)
    norms = named_norms(plan_profile(target(plans, "A5")))
    assert norms["value_21"] == pytest.approx(PARITY_21[s - 1], abs=5e-5)
    assert norms["readout"] == pytest.approx(PARITY_READOUT[s - 1], abs=5e-5)
    table = named_norms(plan_profile(target(plans, "A1")))
    assert table["value_spectral"] == pytest.approx(JUNTA_SPECTRAL[s - 1], abs=5e-5)
    both = target(pair_plans(conjunction(places), 100, 0.5, "bits"), "A2")
    assert named_norms(plan_profile(both))["value_21"] == pytest.approx(NU[s - 1], abs=5e-5)


ORDER = ("score_frobenius", "value_21", "value_spectral", "readout", "path")
PAIR = {  # (T, s, target): ‖M‖_F, ‖W_V‖_{2,1}, ‖W_V‖_2, ‖w‖, P, width
    (100, 2, "A2"): (7.804, 1.000, 1.000, 4.000, 4.000, 1),
    (100, 2, "A5"): (7.804, 3.414, 1.732, 18.330, 31.314, 3),
    (100, 2, "A1"): (7.804, 4.000, 1.414, 8.000, 16.000, 4),
    (100, 3, "A2"): (8.540, 1.291, 1.291, 6.000, 7.746, 1),
    (100, 3, "A5"): (8.540, 5.131, 2.303, 36.497, 87.651, 4),
    (100, 3, "A1"): (8.540, 10.328, 2.000, 16.971, 61.968, 8),
    (100, 5, "A2"): (9.344, 1.844, 1.844, 10.000, 18.439, 1),
    (100, 5, "A5"): (9.344, 9.781, 3.640, 83.066, 327.555, 6),
    (100, 5, "A1"): (9.344, 59.005, 5.367, 56.569, 590.051, 32),
    (1000, 3, "A2"): (14.225, 1.291, 1.291, 6.000, 7.746, 1),
    (1000, 3, "A5"): (14.225, 5.131, 2.303, 36.497, 87.651, 4),
    (1000, 3, "A1"): (14.225, 10.328, 2.000, 16.971, 61.968, 8),
}


@pytest.mark.parametrize(("case", "row"), PAIR.items(), ids=str)
def test_pair_norm_table(case, row):
    """Construction A's rows of the norm table: conjunction 0/1, parity ±1, the parity table by the general route."""
    context, s, name = case
    places = tuple(range(s))
    plans = pair_plans(conjunction(places), context, 0.5, "bits")
    plan = target(plans, "A2") if name == "A2" else target(pair_plans(parity(places), context, 0.5, "signs"), name)
    norms = named_norms(plan_profile(plan))
    assert [norms[name] for name in ORDER] == pytest.approx(list(row[:5]), abs=6e-4)
    assert plan.width == row[5]


ADDITIVE = {  # as above, the constant of weight 0 that the table keeps for a conjunction included
    (100, 2, "and"): (7.464, 2.111, 1.107, 7.085, 7.744),
    (100, 2, "parity"): (7.464, 3.657, 1.414, 20.197, 32.395),
    (100, 3, "and"): (9.124, 2.042, 1.173, 9.914, 11.485),
    (100, 3, "parity"): (9.124, 5.109, 1.732, 34.522, 67.385),
    (100, 5, "and"): (11.733, 2.009, 1.247, 15.571, 19.288),
    (100, 5, "parity"): (11.733, 8.200, 2.236, 69.854, 176.327),
    (1000, 3, "and"): (13.160, 2.042, 1.173, 9.901, 11.470),
    (1000, 3, "parity"): (13.160, 5.109, 1.732, 34.476, 67.296),
}


@pytest.mark.parametrize(("case", "row"), ADDITIVE.items(), ids=str)
def test_additive_norm_table(case, row):
    """Construction B1's rows; where the constant was dropped, its column is put back before the norms are taken."""
    context, s, family = case
    places = tuple(range(s))
    plan = additive_plan(
        (conjunction if family == "and" else parity)(places), context, 0.5, "bits" if family == "and" else "signs"
    )
    columns = plan.heads[0].rest_values
    if family == "and":
        columns = np.concatenate([np.full((2, 1), 1 / (s + 0.5)), columns], axis=1)
    norms = named_norms(plan_profile(plan))
    found = [
        norms["score_frobenius"],
        np.linalg.norm(columns, axis=0).sum(),
        np.linalg.norm(columns, 2),
        norms["readout"],
        norms["path"],
    ]
    assert found == pytest.approx(list(row), abs=6e-4)


def test_path_inf_vectors():
    """P_∞ at s = 3 and mass ½: A2 4, A2± 10, A1 32, parity 46; B's conjunction 11.0162 and parity 61.09."""
    places = (0, 1, 2)
    bits, signs = (pair_plans(conjunction(places), 100, 0.5, output) for output in ("bits", "signs"))
    odd = pair_plans(parity(places), 100, 0.5, "signs")
    found = [target(bits, "A2"), target(signs, "A2"), target(odd, "A1"), target(odd, "A5")]
    assert [plan.path_inf for plan in found] == pytest.approx([4, 10, 32, 46], rel=1e-12)
    assert additive_plan(conjunction(places), 100, 0.5, "bits").path_inf == pytest.approx(11.0162, abs=5e-5)
    assert additive_plan(parity(places), 100, 0.5, "signs").path_inf == pytest.approx(61.09, abs=5e-3)


def test_logit_scales():
    """β of A and B at s = 3 and mass ½, T = 100, 1000, 10000; codes cost at most a factor 2."""
    places = (0, 1, 2)
    for context, pair, additive in ((100, 3.486355, 5.267858), (1000, 5.807141, 7.597898), (10000, 8.111528, 9.903188)):
        assert logit_range(pair_plans(conjunction(places), context, 0.5, "bits")[0]) == pytest.approx(pair, abs=1e-6)
        plan = additive_plan(conjunction(places), context, 0.5, "bits")
        assert logit_range(plan) == pytest.approx(additive, abs=1e-6)
        coded = coded_plan(conjunction(places), context, 0.5, "bits", 0)
        assert logit_range(coded) <= 2 * additive * 1.5  # logits lie in [−β/2, β], β ≤ 2 log((T−s)/ρ)
        assert coded.parameters["rho"] <= 0.5


@pytest.mark.parametrize("context", [60, 200, 1000])
def test_code_width(context):
    """d_p = (2/Δ²) log(2sT/δ'), Δ = 1/9, δ' = .01: only relevant × all products count, fewer than for pairs."""
    plan = coded_plan(conjunction((0, 1, 2)), context, 0.5, "bits", 0)
    assert plan.dimension - 3 == int(np.ceil(162 * log(6 * context / 0.01)))
    assert plan.dimension - 3 < {60: 2073, 200: 2463, 1000: 2985}[context]
    assert plan.parameters["beta"] <= 2 * log((context - 3) / 0.5) + 1e-6
    size = named_norms(plan_profile(plan))["score_frobenius"]
    assert size <= plan.parameters["beta"] * sqrt(3 / (1 - 2 / 9)) + 1e-9
