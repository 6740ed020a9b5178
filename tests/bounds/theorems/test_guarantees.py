"""Guarantees: values, conditions, derivations, questions asked again, and the theory's table of sizes."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.bounds import DEEP, PATH, ROUTES, SCALAR, TABULATED, guarantee, pair_construction, rivals
from keyhole.bounds.construction_norms import hypothetical, matrix
from keyhole.bounds.covers.chaining import chained
from keyhole.bounds.covers.heads import scalar_model_cover
from keyhole.bounds.theorems.risk import Loss, deviation, margin_loss
from keyhole.bounds.theorems.rival_bounds import RECALLED_CONSTANTS, RECALLED_TRANSPOSED, loosened
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile

from helpers.closed_forms import common_nats, head_capacity, scalar_capacity

seeds = st.integers(0, 2**32 - 1)


def random_matrix(rng, rows, columns):
    """Norms that some matrix could have: spectral ≤ Frobenius ≤ each (2,1) ≤ entries."""
    spectral = float(np.exp(rng.uniform(-3, 3)))
    frobenius = spectral * float(rng.uniform(1, min(rows, columns) ** 0.5))
    summed, across = (frobenius * float(rng.uniform(1, 3)) for _ in range(2))
    return matrix(
        rows, columns, spectral=spectral, frobenius=frobenius, columns21=summed, rows21=across,
        entries11=max(summed, across) * float(rng.uniform(1, 3)),
    )  # fmt: skip


def random_profile(seed, most_layers=1):
    """A random profile: several heads; an output matrix, a fixed query, a diameter, positions or not."""
    rng = np.random.default_rng(seed)

    def size():
        return float(np.exp(rng.uniform(-3, 3)))

    def perhaps(value):
        return value if rng.random() < 0.5 else None

    d, k, blocks = int(rng.integers(2, 40)), int(rng.integers(1, 20)), []
    for _ in range(rng.integers(1, most_layers + 1)):
        heads = tuple(
            HeadNorms(random_matrix(rng, d, d), random_matrix(rng, d, k), perhaps(size()))
            for _ in range(rng.integers(1, 4))
        )
        flags = [bool(rng.random() < 0.5) and most_layers > 1, bool(rng.random() < 0.5)]  # Theorem S has no residual
        blocks.append(BlockNorms(heads, perhaps(random_matrix(rng, k, d)), *flags))
    radius = size()
    return NormProfile(
        blocks=tuple(blocks), tokens=int(10 ** rng.uniform(0.4, 6)), readout=size(), token_radius=radius,
        query_radius=radius * float(rng.uniform(0.05, 1)),
        token_diameter=perhaps(radius * float(rng.uniform(0.1, 2))), path=size(),
        path_inf=size(), spread=float(rng.uniform(0, 8)), positions11=perhaps(size()), least_probability=0.3,
    )  # fmt: skip


samples = st.floats(0, 16).map(lambda e: float(int(10**e)))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
@settings(max_examples=25)
@given(data=st.data())
def test_monotone_in_every_norm_in_the_context_and_in_the_samples(route, data):
    """Raising any norm, or T, never lowers the bound; more samples never raise it."""
    profile, m = random_profile(data.draw(seeds)), data.draw(samples)
    here = guarantee(route, profile, m)
    slack = 1 + 1e-9
    for dial in route.dials(profile):
        higher = here.again(profile=dial.turn(profile, dial.read(profile) * data.draw(st.floats(1, 4))))
        assert here.value <= higher.value * slack, dial.label
    assert here.value <= here.again(profile=replace(profile, tokens=profile.tokens * 3)).value * slack
    assert here.again(samples=m * data.draw(st.floats(1, 100))).value <= here.value * slack


@given(seeds, samples)
def test_ours_is_below_the_same_calculus_with_the_recalled_constants(seed, m):
    """c_N = 1 and ‖M‖_F against c_N = 2 and either (2,1) norm: never larger, whatever the profile."""
    profile = random_profile(seed, most_layers=3)
    if len(profile.blocks) == 1:  # Theorem S has no residual
        profile = replace(profile, blocks=(replace(profile.blocks[0], residual=False),))
    route = SCALAR if len(profile.blocks) == 1 else DEEP
    ours = guarantee(route, profile, m).value
    for rival in (RECALLED_CONSTANTS, RECALLED_TRANSPOSED):
        assert ours <= guarantee(rival, profile, m).value * (1 + 1e-9)


def test_the_like_for_like_rival_in_numbers():
    """Theorem H's example with ‖M‖₂₁ = 8 in (S32): 7912.121724 against 1622.759343."""
    profile = hypothetical(tokens=100, value21=2.0, value=1.0, score=5.0, width=4)
    score = replace(profile.blocks[0].heads[0].score, columns21=8.0)
    head = replace(profile.blocks[0].heads[0], score=score)
    loose = loosened(replace(profile, blocks=(BlockNorms((head,)),)))
    (only,) = loose.blocks[0].heads
    value = head_capacity(value21=2, value=1, score=only.score.frobenius, constant=loose.normaliser_constant)
    assert round(value * common_nats(4, 1000, 100), 6) == 7912.121724


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
@given(data=st.data())
def test_a_derivation_adds_up(route, data):
    """Shares of parts sum to one below every step, the root is the value, and the leaves sum to one."""
    shown = guarantee(route, random_profile(data.draw(seeds)), data.draw(samples))
    assert shown.derivation.value == shown.value
    for _, _, step in shown.derivation.walk():
        assert not step.parts or sum(part.share for part in step.parts) == pytest.approx(1)
    leaves = [share for _, share, step in shown.derivation.walk() if not step.parts]
    assert sum(leaves) == pytest.approx(1)
    assert shown.derivation.leaf() in [step for _, _, step in shown.derivation.walk()]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_what_a_route_reads_is_what_moves_it(route):
    """Only the declared dials move a bound: the others may be changed at will."""
    profile = replace(pair_construction("parity", 30, 3), spread=1.0, least_probability=0.5)
    declared = {dial.way for dial in route.dials(profile)}
    asked = guarantee(route, profile, 1e13)
    here = asked.value
    for other in ROUTES:
        for dial in other.dials(profile):
            moved = asked.again(profile=dial.turn(profile, dial.read(profile) * 1.5)).value
            assert (moved == here) or dial.way in declared


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
@pytest.mark.parametrize("gap", [0.5, 0.05])
def test_the_sample_size_is_the_smallest(route, gap):
    """At the returned m the gap is reached, at m − 1 it is not."""
    asked = guarantee(route, replace(pair_construction("and", 50, 2), least_probability=0.5), 100)
    m = asked.samples_for(gap)
    assert asked.again(samples=m).value <= gap < asked.again(samples=m - 1).value


def cover_gap(target, T, constant):
    """The smallest m of the table's cover rows: closed form with a common logarithm, Theorem G, Rule 3."""
    profile = pair_construction(target, T, 3)
    head = profile.blocks[0].heads[0]
    per_nat = scalar_capacity(
        readout=profile.readout, value21=head.value.columns21, value=head.value.spectral,
        score=head.score.frobenius, constant=constant,
    )  # fmt: skip

    def gap(m):
        c = per_nat * common_nats(head.value.columns, m, T + 1)
        return 2 * chained(c, m).value + deviation(m, 0.01)

    low, high = 1.0, 1e20
    for _ in range(100):
        middle = sqrt(low * high)
        low, high = (low, middle) if gap(middle) <= 0.2 else (middle, high)
    return high


@pytest.mark.parametrize(
    ("target", "constant", "sizes"),
    [
        ("and", 1.0, (2.70e10, 6.01e10, 1.08e11)),
        ("and", 2.0, (7.36e10, 1.80e11, 3.38e11)),
        ("signed-and", 1.0, (1.92e11, 4.05e11, 7.03e11)),
        ("parity", 1.0, (5.77e12, 1.17e13, 1.96e13)),
        ("parity", 2.0, (1.41e13, 3.16e13, 5.65e13)),
    ],
)
def test_table_of_sizes_by_covers(target, constant, sizes):
    """The theory's table within 2 % (it prints three digits)."""
    assert [cover_gap(target, T, constant) for T in (100, 1000, 10_000)] == pytest.approx(sizes, rel=0.02)


@pytest.mark.parametrize(
    ("route", "target", "leak", "signed", "sizes"),
    [
        (SCALAR, "and", 0.5, False, (1.67e10, 3.52e10, 6.10e10)),
        (PATH, "and", 0.5, False, (5.6e10, 1.7e11, 3.7e11)),
        (PATH, "parity", 0.5, False, (1.4e13, 4.4e13, 9.2e13)),
        (TABULATED, "and", 0.5, True, (7.2e4, 1.02e5, 1.33e5)),
        (TABULATED, "and", 0.5, False, (1.92e4, 2.69e4, 3.47e4)),
        (TABULATED, "and", 0.01, False, (5.5e3, 7.6e3, 9.6e3)),
        (TABULATED, "signed-and", 0.5, False, (4.4e5, 6.2e5, 8.1e5)),
        (TABULATED, "parity", 0.5, False, (9.0e6, 1.29e7, 1.68e7)),
        (TABULATED, "junta", 0.5, False, (4.4e6, 6.3e6, 8.2e6)),
    ],
)
def test_table_of_sizes_by_guarantees(*, route, target, leak, signed, sizes):
    """The rows that guarantees give directly, within 2 %, or half a unit of the last printed digit."""
    for T, size in zip((100, 1000, 10_000), sizes, strict=True):
        profile = pair_construction(target, T, 3, leak)
        if signed:
            profile = replace(profile, readout_nonnegative=False)
        found = guarantee(route, profile, 100).samples_for(0.2)
        digits = len(f"{size:.2e}".split("e")[0].rstrip("0").replace(".", ""))
        half_unit = 0.5 * 10.0 ** (int(f"{size:e}".split("e")[1]) - max(1, digits - 1))
        assert found == pytest.approx(size, abs=max(0.02 * size, half_unit))


def test_covers_grow_only_with_their_logarithm():
    """At fixed norms C/Λ does not depend on T; the whole of T is in Λ = log(k(2mT+1)+1) and its like."""
    head = {"value21": 2.0, "value": 1.0, "score": 5.0, "width": 4, "readout": 3.0}
    for m in (10, 10**6):
        roots = []
        for tokens in (10, 10**4, 10**8):
            cover = scalar_model_cover(hypothetical(tokens=tokens, **head), m)
            roots.append(sum(((t.weight * t.scale) ** 2) ** (1 / 3) for t in cover.terms))
            assert {t.name: t.nats for t in cover.terms} == pytest.approx(
                {
                    "values": log(4 * (2 * m * tokens + 1) + 1),
                    "scores": log(2 * m * tokens + 1),
                    "read-out": log(2 * m + 1),
                }
            )
        assert roots == pytest.approx([roots[0]] * 3)


@pytest.mark.parametrize("route", [TABULATED, SCALAR, PATH], ids=lambda route: route.key)
def test_bounds_do_not_read_the_embedding_dimension(route):
    """The same norms in dimension 16 and 16,000 give the same number."""
    values = []
    for d in (16, 16_000):
        base = hypothetical(tokens=50, value21=2.0, value=1.0, score=5.0, width=4, dimension=d)
        profile = replace(base, path=3.0, path_inf=4.0, spread=0.5)
        values.append(guarantee(route, profile, 1e7).value)
    assert values[0] == values[1]


def test_two_sides_measured_norms_and_margins():
    """One side is cheaper, measured norms dearer, and a margin γ multiplies the complexity by 1/γ."""
    profile = pair_construction("and", 100, 3)
    base = guarantee(TABULATED, profile, 1e5)
    assert guarantee(TABULATED, profile, 1e5, two_sided=False).value < base.value
    measured = guarantee(TABULATED, profile, 1e5, measured=True)
    assert measured.value > base.value
    assert any("peeling" in condition for condition in measured.valid_if)
    assert any("fixed before the data" in condition for condition in base.valid_if)
    chance = deviation(1e5, 0.01)
    half = guarantee(TABULATED, profile, 1e5, loss=margin_loss(0.5))
    assert half.value - chance == pytest.approx(2 * (base.value - chance))
    assert not base.vacuous
    assert guarantee(TABULATED, profile, 10).vacuous
    assert not guarantee(TABULATED, profile, 1000, loss=Loss(1.0, 5.0)).vacuous


def test_peeled_value_in_numbers():
    """P_∞ = 4 → class 4 with share 1/72, R = 0 with share 1/2: δ/144 in Rule 3; signs seen are not used."""
    profile = pair_construction("and", 100, 3)
    found = guarantee(TABULATED, profile, 1e5, measured=True).value
    assert found == pytest.approx(16 * sqrt(2 * log(202) / 1e5) + deviation(1e5, 0.01 / 144))


def test_sensitivity_says_what_halving_does():
    """Halving ‖w‖ quarters C: the recomputed value, not an estimate; and all norms read are listed."""
    base = guarantee(SCALAR, pair_construction("and", 100, 3), 1e11)
    found = base.halved()
    again = base.again(profile=replace(base.profile, readout=base.profile.readout / 2))
    assert found["‖w‖₂"] == pytest.approx(again.value / base.value - 1)
    assert all(-1 < change <= 1e-12 for change in found.values())
    assert list(found.values()) == sorted(found.values())
    fewer = base.halved(gap=0.2)
    ratio = again.samples_for(0.2) / base.samples_for(0.2)
    assert fewer["‖w‖₂"] == pytest.approx(ratio - 1, abs=1e-3 * ratio)  # found to a thousandth
    assert all(-1 < change <= 1e-12 for change in fewer.values())


def test_refusals():
    """δ ≤ 0, m = 0, bad norms, unreachable gaps: one sentence each."""
    profile = pair_construction("and", 100, 3)
    with pytest.raises(AssumptionError, match="0 < δ < 1; got 0"):
        guarantee(SCALAR, profile, 100, delta=0)
    with pytest.raises(AssumptionError, match=r"spend no more than is promised"):
        guarantee(SCALAR, profile, 100, delta=0.01, spent=0.02)
    with pytest.raises(AssumptionError, match="at least one sample; got 0"):
        guarantee(SCALAR, profile, 0)
    for bad in (-1.0, float("nan")):
        with pytest.raises(AssumptionError, match="‖w‖₂ is a norm, so it must be ≥ 0 and finite"):
            guarantee(SCALAR, replace(profile, readout=bad), 100)
        with pytest.raises(AssumptionError, match="P_∞ is a norm"):
            guarantee(TABULATED, replace(profile, path_inf=bad), 100)
    with pytest.raises(AssumptionError, match="gap must be above 0"):
        guarantee(TABULATED, profile, 100).samples_for(0.0)
    with pytest.raises(AssumptionError, match="No number of samples"):
        guarantee(TABULATED, profile, 100).samples_for(1e-40)


@settings(max_examples=15)
@given(seeds, st.integers(8, 10**12))
def test_rivals_are_all_there_and_marked(seed, m):
    """R1 to R11 and five more; a shape is marked as no bound; what has no number says why."""
    found = rivals(random_profile(seed, most_layers=2), m)
    keys = [rival.key for rival in found]
    assert {f"R{i}" for i in range(1, 12)} <= set(keys)
    assert len(keys) == len(set(keys)) == 16
    for rival in found:
        assert (rival.value is None) <= bool(rival.remark)
    shapes = {rival.key for rival in found if "not a bound" in rival.kind}
    assert shapes == {"R1", "R4", "R5", "R6"}
    recalled = {rival.key for rival in found if rival.origin.status == "recalled"}
    assert recalled == {"R1", "R2", "R3", "R4", "R5", "R6", "R11"}  # every one that follows a work not read
