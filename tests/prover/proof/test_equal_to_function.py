"""The verdict is enumeration's: proved where every input agrees, a counterexample where one does not."""

import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import evaluate
from keyhole.attention.normalisers import Softmax, Sparsemax
from keyhole.boolean.families import read_function
from keyhole.boolean.junta import Junta
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.errors import AssumptionError, ShapeError
from keyhole.prover.extraction.extraction import certifiable
from keyhole.prover.proof import equal_to_function as engine
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.proof.tables import Drift, tables_of

from helpers.compiled_plans import FORMULAS, all_plans
from helpers.exact_models import below, exact_f, least_signed, precisely, strained
from helpers.planted_juntas import FEW, LOUD, all_sequences, answers, least_heights, plans, planted
from helpers.random_models import Plan, random_model
from helpers.random_models import plans as any_plans

pytestmark = pytest.mark.slow

NEAR = 1e-7  # f so near to 0 is not asked about: double precision through three norms does not tell its sign


def judged(model, junta):
    """The verdict, its counterexample checked by the model itself."""
    found = prove_equal(model, junta, time_limit=60.0)
    if found.status == "COUNTEREXAMPLE":
        row = found.counterexample[None]
        value = evaluate(model, row)[0]
        assert found.output == pytest.approx(value, rel=1e-6, abs=1e-9)
        assert (value > 0) == (not found.wanted)
        assert junta(row)[0] == found.wanted
    return found


@pytest.fixture(params=[64, 1])
def _leaf(request, monkeypatch):
    """Both with few completions gone through one by one, and with bounds and cuts alone down to single inputs."""
    monkeypatch.setattr(engine, "LEAF", request.param)


@pytest.mark.usefixtures("_leaf")
class TestAgainstEnumeration:
    """The whole engine on models with all inputs at hand."""

    @staticmethod
    @settings(max_examples=FEW)
    @given(plans, st.sampled_from([0.0, 3.0, LOUD]), st.integers(0, 3), st.data())
    def test_the_verdict_is_enumerations(plan, loud, size, data):
        """PROVED, with a margin no larger than the true one, iff every input agrees; else a true counterexample."""
        positions = tuple(range(min(size, plan.tokens)))
        model = planted(plan, positions, loud)
        _, f, cells, junta = answers(model, positions)
        if data.draw(st.booleans()):  # one answer turned round
            table = junta.table.copy()
            table[data.draw(st.integers(0, len(table) - 1))] ^= True
            junta = replace(junta, table=table)
        assume(np.abs(f).min() > NEAR)
        lowest = least_heights(f, cells, junta).min()
        found = judged(model, junta)
        assert found.status == ("PROVED" if lowest > 0 else "COUNTEREXAMPLE")
        if found.status == "PROVED":
            assert 0 < found.margin <= lowest + NEAR

    @staticmethod
    @pytest.mark.parametrize("norms", [True, False])
    @pytest.mark.parametrize("placement", ["pre", "post"])
    def test_the_bias_turns_the_verdict(norms, placement):
        """A read-out bias moved by less than μ never changes the verdict; moved past the true minimum it does."""
        plan = Plan(seed=11, tokens=8, heads=3, norms=norms, placement=placement, gelu=True, final_norm=norms)
        model = planted(plan, (1, 4))
        _, f, _, junta = answers(model, (1, 4))
        found = judged(model, junta)
        assert found.status == "PROVED"

        def moved(by):
            return replace(model, readout=replace(model.readout, bias=model.readout.bias + by))

        for by in (-0.999 * found.margin, 0.999 * found.margin):
            assert judged(moved(by), junta).status == "PROVED"
        if (f > 0).any():
            assert judged(moved(-f[f > 0].min() - 1e-6), junta).status == "COUNTEREXAMPLE"
        if (f < 0).any():
            assert judged(moved(-f[f < 0].max() + 1e-6), junta).status == "COUNTEREXAMPLE"


def must_be_certain(truth, tables, drifts, positions, data):
    """Verdicts on the model with an extreme f of some cell put near 0 hold to 260 bits: nothing is allowed for."""
    sequences = all_sequences(tables.tokens, tables.symbols)
    cells = (sequences[:, list(positions)] @ tables.symbols ** np.arange(len(positions))).astype(np.int64)
    exactly, before = exact_f(truth, sequences), float(truth.readout.bias)
    inside = np.flatnonzero(cells == data.draw(st.integers(0, cells.max())))
    place = inside[np.argsort([float(each) for each in exactly[inside]])[data.draw(st.sampled_from([0, -1]))]]
    for shares in ([0.0, 1e-16, 1e-15], [1e-13, 1e-12, 1e-11], [1e-10, 0.01]):
        share = data.draw(st.sampled_from(shares)) * data.draw(st.sampled_from([1, -1]))
        with precisely():
            bias = float((before + share * max(abs(each) for each in exactly) - exactly[place]).mid())
            truths = exactly - before + bias
        up = np.array([each > 0 for each in truths])
        table = np.array([2 * up[cells == cell].sum() > (cells == cell).sum() for cell in range(cells.max() + 1)])
        moved = replace(tables, readout=replace(tables.readout, bias=np.asarray(bias)))
        for answer in (table[cells[place]], ~table[cells[place]]):
            table[cells[place]] = answer
            found = prove_equal(moved, Junta(positions, tables.symbols, table), drifts=drifts, time_limit=0.1)
            if found.status == "PROVED":
                assert below(found.margin, least_signed(truths, cells, np.where(table, 1, -1).tolist()))
            if found.status == "COUNTEREXAMPLE":
                at = int(np.flatnonzero((sequences == found.counterexample).all(axis=1))[0])
                assert truths[at] < 0 if table[cells[at]] else truths[at] > 0
                assert table[cells[at]] == found.wanted


@pytest.mark.usefixtures("_leaf")
class TestWithoutTolerance:
    """Some f within 1e-16 … 1e-10 of the largest from 0: there rounding decides, and no verdict is wrong."""

    @staticmethod
    @settings(max_examples=FEW // 3)
    @given(plans, st.sampled_from([0.0, LOUD]), st.sampled_from([0, 2, 3]), st.data())
    def test_tables_as_given(plan, loud, size, data):
        """The model is its tables: a margin is no larger than the least sign·f, a counterexample's sign is certain."""
        plan = replace(plan, tokens=min(plan.tokens, 3 if engine.LEAF > 1 else 2))
        positions = tuple(range(min(size, plan.tokens)))
        model = planted(plan, positions, loud)
        must_be_certain(model, model, None, positions, data)

    @staticmethod
    @settings(max_examples=FEW // 3)
    @given(any_plans, st.sampled_from([0.0, 30.0]), st.sampled_from([0, 2, 3]), st.data())
    def test_from_the_weights(plan, strain, size, data):
        """The model is its weights, and rounding has moved its tables: the same holds of what the weights define."""
        plan = replace(plan, tokens=min(plan.tokens, 3 if plan.symbols == 2 else 2), projected=False)
        model = strained(random_model(plan), strain, 1e4)
        try:
            subject = certifiable(model)
        except AssumptionError:  # a norm has made too much of what was lost
            return
        must_be_certain(model, subject.tables, subject.drifts, tuple(range(min(size, plan.tokens))), data)


@pytest.mark.usefixtures("_leaf")
class TestDrift:
    """Tables known up to a drift: what is proved holds for every model within it."""

    @staticmethod
    @settings(max_examples=FEW)
    @given(plans, st.sampled_from([1e-3, 1e-2, 0.1]), st.sampled_from([1e-3, 1e-2, 0.1]), st.data())
    def test_every_model_within_the_drift_has_the_margin(plan, score, value, data):
        """Scores and values moved by as much as is said, up or down: no input comes nearer to 0 than the margin."""
        positions = tuple(range(min(2, plan.tokens)))
        model = planted(plan, positions)
        _, _, cells, junta = answers(model, positions)
        found = prove_equal(model, junta, drifts=[Drift(score, value)] * len(model.heads), time_limit=60.0)
        if found.status != "PROVED":
            return
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))

        def pushed(head):
            ups = [rng.choice([-1.0, 1.0], np.shape(part)) for part in (head.scores, head.cls_score)]
            scale = score * head.normaliser.temperature
            scores, cls_score = head.scores + scale * ups[0], head.cls_score + scale * ups[1]
            values, cls_value = (v + value * rng.choice([-1.0, 1.0], v.shape) for v in (head.values, head.cls_value))
            return replace(head, scores=scores, cls_score=cls_score, values=values, cls_value=cls_value)

        for _ in range(8):
            moved = replace(model, heads=tuple(pushed(head) for head in model.heads))
            assert least_heights(evaluate(moved, all_sequences(plan.tokens, plan.symbols)), cells, junta).min() > (
                found.margin - NEAR
            )

    @staticmethod
    @pytest.mark.parametrize("symbol", [0, 1])
    def test_the_margin_pays_for_the_drift_exactly(symbol):
        """Half the mass at +1, half at −1 and a bias of .2: scores off by ε and values by ν take ε + ν of the margin.

        Nothing less would do: with the scores moved by ±ε and the values by −ν, f is .2 − tanh ε − ν.
        """
        model = planted(Plan(tokens=8, heads=1, norms=False, feedforward=False, residual="none"), ())
        values = np.repeat([1.0, -1.0], 4)[:, None, None] * np.ones((1, 2, 1))
        given = {"scores": np.zeros((8, 2)), "values": values, "normaliser": Softmax()}
        head = replace(model.heads[0], **given, cls_score=np.array(-40.0), cls_value=np.zeros(1))
        readout = replace(model.readout, weight=np.ones(1), bias=np.array(0.2 if symbol else -0.2))
        model = replace(
            model, heads=(head,), wiring=replace(model.wiring, output=None), readout=readout, stream=np.zeros(1)
        )
        junta = Junta((), 2, np.array([bool(symbol)]))
        assert prove_equal(model, junta).margin == pytest.approx(0.2, abs=1e-9)
        for score, value in ((0.01, 0.0), (0.0, 0.01), (0.02, 0.03)):
            found = prove_equal(model, junta, drifts=[Drift(score, value)])
            assert found.margin == pytest.approx(0.2 - score - value, abs=1e-9)
        for score, value in ((0.21, 0.0), (0.0, 0.21)):
            assert prove_equal(model, junta, drifts=[Drift(score, value)], time_limit=1.0).status == "UNDECIDED"


def test_a_drift_can_undo_a_counterexample():
    """An input whose f is 1e-3 on the wrong side refutes the model as given, not one known up to 1e-2."""
    model = planted(Plan(tokens=3, heads=1, norms=False), (0,))
    _, f, _, _ = answers(model, (0,))
    model = replace(model, readout=replace(model.readout, bias=model.readout.bias - f.max() + 1e-3))
    junta = Junta((), 2, np.array([False]))
    assert prove_equal(model, junta).status == "COUNTEREXAMPLE"
    assert prove_equal(model, junta, drifts=[Drift(1e-2, 1e-2)], time_limit=1.0).status == "UNDECIDED"


@pytest.mark.parametrize("seed", range(6))
def test_a_planted_counterexample_is_found(seed):
    """One background pattern of 2^16 that the model answers otherwise: a head that only it wakes."""
    rng = np.random.default_rng(seed)
    tokens, secret = 18, rng.integers(0, 2, 16)
    model = planted(Plan(seed=seed, tokens=tokens, heads=1, norms=False, feedforward=False, residual="none"), (0, 1))
    head = model.heads[0]
    values = np.zeros((tokens, 2, 1))
    values[0, :, 0] = -1.0, 1.0
    values[np.arange(2, tokens), 1 - secret, 0] = 1.0  # a symbol that is not the secret's pulls up
    values[np.arange(2, tokens), secret, 0] = -1.0
    scores = np.zeros((tokens, 2))
    scores[0] = np.log(15.0)  # weighs 15 against 16 background tokens: only when all agree do they win
    scores[1] = -20.0
    head = replace(head, scores=scores, values=values, cls_score=np.array(-20.0), cls_value=np.zeros(1))
    head = replace(head, normaliser=Softmax())
    readout = replace(model.readout, weight=np.ones(1), bias=np.zeros(()))
    wiring = replace(model.wiring, output=None)
    model = replace(model, heads=(head,), wiring=wiring, readout=readout, stream=np.zeros(1))
    found = judged(model, Junta((0,), 2, np.array([False, True])))
    assert found.status == "COUNTEREXAMPLE"
    raised = replace(head, scores=scores + np.where(np.arange(tokens) == 0, np.log(17.0 / 15.0), 0.0)[:, None])
    assert judged(replace(model, heads=(raised,)), Junta((0,), 2, np.array([False, True]))).status == "PROVED"


@pytest.mark.parametrize("formula", FORMULAS)
def test_compiled_models_verify(formula):
    """Every construction of a function is proved equal to it, and its negation is refuted."""
    for plan in all_plans(formula):
        function = plan.function
        junta = Junta(function.positions, 2, function.table)
        found = judged(to_tabulated(plan), junta)
        assert found.status == "PROVED", plan.construction
        assert found.margin <= 1 + 1e-9  # the wanted outputs are ±1
        turned = replace(junta, table=~junta.table)
        assert judged(to_tabulated(plan), turned).status == "COUNTEREXAMPLE"


def test_long_contexts_cost_their_rows():
    """A million positions that share a row are verified as one row."""
    plan = pair_plans(read_function("x3 & ~x70"), 10**6, 0.5, "signs")[0]
    model = to_tabulated(plan)
    assert len(tables_of(model, (3, 70)).counts) == 3
    table = np.array([False, True, False, False])
    found = prove_equal(model, Junta((3, 70), 2, table))
    assert (found.status, found.margin) == ("PROVED", pytest.approx(1.0, abs=1e-6))
    beside = prove_equal(model, Junta((3, 71), 2, table))  # position 71 is served by the shared row
    assert beside.status == "COUNTEREXAMPLE"
    assert beside.counterexample.shape == (10**6,)


def test_time_ends():
    """When time is up the open cell and its bound are named; a clock that stands still lets the search end."""
    # four loud heads under three norms: neither the first bound nor the attack settles it, seven cuts do
    plan = Plan(seed=35, tokens=10, heads=4, norms=True, placement="post", final_norm=True, gelu=True)
    model = planted(plan, (0,), 3.0)
    junta = answers(model, (0,))[3]
    ticks = count()
    found = prove_equal(model, junta, time_limit=1.5, clock=lambda: float(next(ticks)))
    assert found.status == "UNDECIDED"
    assert "in the cell x0 = " in found.reason
    assert (found.margin, found.counterexample) == (None, None)
    settled = prove_equal(model, junta, clock=lambda: 0.0)
    assert settled.status == "PROVED"
    assert settled.parts > 0


@pytest.mark.parametrize("gelu", [True, False])
def test_what_overflows_is_not_proved(gelu):
    """Scores too far apart for double precision leave the question open, and say why."""
    model = planted(Plan(tokens=3), [0])
    far = np.array([[0.0, 2000.0], [0.0, 0.0], [0.0, 0.0]])  # one symbol alone is loud: without it all masses vanish
    model = replace(model, heads=tuple(replace(head, scores=head.scores + far) for head in model.heads))
    found = prove_equal(model, Junta((0,), 2, np.array([False, True])))
    assert found.status == "UNDECIDED"
    assert "underflow or overflow" in found.reason
    huge = planted(Plan(tokens=9, norms=False, heads=1, gelu=gelu), [0])
    output = replace(huge.wiring.output, weight=huge.wiring.output.weight * 1e20)
    wiring = replace(huge.wiring, output=output)
    huge = replace(huge, wiring=wiring, readout=replace(huge.readout, weight=np.full(6, 1e300)))
    for positions in ((), (0, 1, 2, 3, 4)):  # bounded, and gone through input by input
        for answer in (True, False):
            found = prove_equal(huge, Junta(positions, 2, np.full(2 ** len(positions), answer)), time_limit=0.5)
            assert found.status == "UNDECIDED"


def test_margins_are_explained():
    """A proof says what its margin is good for, in three digits rounded down, and nothing else does."""
    model = planted(Plan(tokens=4, heads=1), (0, 1))
    junta = answers(model, (0, 1))[3]
    found = prove_equal(model, junta)
    printed = re.search("within (.*) of the model's output gives the same answer", found.rule)[1]
    assert 0.99 * found.margin <= float(printed) <= found.margin
    assert prove_equal(model, replace(junta, table=~junta.table)).rule == ""


def test_other_normalisers_are_refused():
    """Lemma F is about softmax."""
    model = planted(Plan(), [0])
    other = replace(model, heads=tuple(replace(head, normaliser=Sparsemax()) for head in model.heads))
    with pytest.raises(AssumptionError, match="normaliser sparsemax was to be verified"):
        prove_equal(other, Junta((0,), 2, np.array([False, True])))


def test_juntas_must_fit():
    """A function over another alphabet has no cells that are all inputs: it is refused."""
    model = planted(Plan(tokens=14), [0])
    with pytest.raises(ShapeError, match="junta over 3 symbols was compared with a model over 2"):
        prove_equal(model, Junta((0,), 3, np.zeros(3, dtype=bool)))
