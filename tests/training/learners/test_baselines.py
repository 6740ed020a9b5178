"""Learners without gradients: they fit what they claim to fit, as often as counting says."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.boolean.families import read_function
from keyhole.boolean.fitting.bitsets import pack, unpack
from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.training.learners.base import learner_from_record, learner_named, learner_names
from keyhole.training.learners.consistent import Consistent
from keyhole.training.learners.elimination import Elimination
from keyhole.training.learners.gf2 import LinearParity, solve
from keyhole.training.learners.scikit import Estimator
from keyhole.training.task import Examples, SparseTask

BASELINES = [name for name in learner_names() if name not in {"transformer", "deep"}]

bits = arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(3, 6)))


def drawn(function, context, samples, seed, law="uniform"):
    """An instance of a task and a training set of it."""
    rng = np.random.default_rng(seed)
    instance = SparseTask(function, law=law).instance(context, rng)
    return instance, instance.training_set(samples, rng)


def fitted(learner, instance, examples, seed=0):
    """What a learner makes of the examples."""
    return learner.fit(instance.size, examples, np.random.SeedSequence(seed))


@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 200))))
def test_packing_is_undone(table):
    """Bits packed into words and unpacked are the same bits, and the padding is zero."""
    assert (unpack(pack(table), table.shape[1]) == table).all()
    assert unpack(pack(table), pack(table).shape[1] * 64).sum() == table.sum()


@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from(["and:2", "and:3"]))
def test_elimination_fits_conjunctions_and_never_errs_upwards(seed, samples, function):
    """It fits every training set of a conjunction, and says 1 only where the conjunction does."""
    instance, examples = drawn(function, 9, samples, seed)
    every = np.array(list(product((0, 1), repeat=9)), dtype=np.uint8)
    for learner in (Elimination(), Elimination(signed=True)):
        predict = fitted(learner, instance, examples).predict
        assert (predict(examples.inputs) == examples.labels).all()
        assert not (predict(every) & ~instance.truth(every)).any()


@given(bits, st.data())
def test_elimination_keeps_exactly_the_literals_no_positive_denies(table, data):
    """The conjunction is the longest one true on all positive examples."""
    labels = data.draw(arrays(np.bool_, len(table)))
    instance, _ = drawn("and:2", table.shape[1], 1, 0)
    predict = fitted(Elimination(signed=True), instance, Examples(table.astype(np.uint8), labels)).predict
    positive = table[labels]
    for place in range(table.shape[1]):
        assert (place in predict.ones) == all(row[place] for row in positive)
        assert (place in predict.zeros) == all(not row[place] for row in positive)


@given(bits, st.data(), st.integers(0, 99))
def test_equations_are_solved_exactly_when_they_can_be(table, data, seed):
    """Some parity fits if and only if elimination says so, and then its answer fits."""
    labels = data.draw(arrays(np.bool_, len(table)))
    width = table.shape[1]
    fits = [w for w in product((0, 1), repeat=width) if (np.array(w) @ table.T % 2 == labels).all()]
    found = solve(table, labels, np.random.default_rng(seed))
    assert found.consistent == bool(fits)
    if fits:
        assert tuple(found.parity.astype(int)) in fits
        assert len(fits) == 2 ** (width - found.rank)


def test_every_solution_is_equally_likely():
    """Of the eight parities that fit one equation in four unknowns each is drawn an eighth of the time."""
    equations, labels = np.array([[True, True, False, True]]), np.array([True])
    rng = np.random.default_rng(1)
    found = [tuple(solve(equations, labels, rng).parity) for _ in range(1600)]
    counts = np.array([found.count(each) for each in set(found)])
    assert len(counts) == 8
    # chi-square with 7 degrees of freedom exceeds 29.9 once in ten thousand
    assert ((counts - 200) ** 2 / 200).sum() < 29.9


@pytest.mark.slow
@pytest.mark.parametrize(("width", "extra"), [(12, 0), (12, 2), (70, 1)])
def test_uniqueness_of_the_parity(width, extra):
    """From T + k uniform samples the parity is unique with probability Π_{j=k+1}^{k+T} (1 − 2^{−j})."""
    rng, runs = np.random.default_rng(2), 300
    unique = 0
    for _ in range(runs):
        table = rng.integers(0, 2, (width + extra, width)).astype(bool)
        unique += solve(table, table[:, 0], rng).rank == width
    expected = prod(1 - 2.0**-j for j in range(extra + 1, extra + width + 1))
    # four standard errors: a false alarm in sixteen thousand
    assert unique / runs == pytest.approx(expected, abs=4 * (expected * (1 - expected) / runs) ** 0.5)


def test_labels_that_are_no_parity_do_not_fit():
    """Contradictory equations give an answer that does not fit, said in its numbers."""
    instance, examples = drawn("majority:3", 6, 60, 3)
    found = fitted(LinearParity(), instance, examples)
    assert found.numbers["consistent"] == 0
    assert (found.predict(examples.inputs) != examples.labels).any()


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "share"), [(20, 0.45), (21, 0.51), (22, 0.57)])
def test_a_random_consistent_conjunction(samples, share):
    """At T = 100 on balanced bits it is the hidden one in .45, .51, .57 of draws at 20, 21, 22 samples."""
    runs, right = 300, 0
    for seed in range(runs):
        instance, examples = drawn("and:3", 100, samples, seed, law="balanced")
        predict = fitted(Consistent("and"), instance, examples, seed).predict
        right += set(predict.positions) == set(instance.function.positions)
    # four standard errors of 300 draws, and of the 2000 behind the stated figure, which has two digits
    error = 4 * (share * (1 - share) * (1 / runs + 1 / 2000)) ** 0.5 + 0.005
    assert right / runs == pytest.approx(share, abs=error)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["and", "junta"])
@pytest.mark.parametrize("function", ["and:1", "and:2", "and:3"])
def test_consistent_hypotheses_are_drawn_alike(kind, function):
    """Every pair of positions and table that fits is drawn equally often, and no other."""
    context, size = 6, int(function[-1])
    instance, examples = drawn(function, context, 5, 11)
    allowed = _consistent(examples, context, size, kind)
    runs = 60 * len(allowed)
    counts = dict.fromkeys(allowed, 0)
    for seed in range(min(runs, 600)):
        predict = fitted(Consistent(kind), instance, examples, seed).predict
        counts[predict.positions, tuple(predict.table)] += 1  # a hypothesis that does not fit is a KeyError
    tally = np.array(list(counts.values()))
    expected = tally.sum() / len(allowed)
    spread = ((tally - expected) ** 2 / expected).sum()
    # chi-square with k degrees: mean k, variance 2k, and nearly Gaussian; five standard deviations and a little
    assert spread < len(allowed) + 5 * (2 * len(allowed)) ** 0.5 + 10


def _consistent(examples, context, size, kind):
    """Every hypothesis that fits, by trying all: the slow oracle."""
    found = []
    conjunction = tuple([False] * (2**size - 1) + [True])
    for positions in combinations(range(context), size):
        cells = examples.inputs[:, positions].astype(int) @ (1 << np.arange(size))
        tables = [conjunction] if kind == "and" else product((False, True), repeat=2**size)
        found += [(positions, table) for table in tables if (np.array(table)[cells] == examples.labels).all()]
    return found


@pytest.mark.parametrize(("kind", "function"), [("and", "parity:3"), ("junta", "majority:5")])
def test_where_nothing_fits(kind, function):
    """Labels that no hypothesis explains get the commoner label, and say so."""
    instance, examples = drawn(function, 8, 200, 4)
    narrow = type(instance)(8, read_function("and:2"), instance.law, instance.letters)
    found = fitted(Consistent(kind), narrow, examples)
    assert found.numbers["consistent"] == 0
    assert len(set(found.predict(examples.inputs))) == 1


def test_a_search_that_would_not_end_is_refused():
    """All 5-juntas of 400 positions are too many to try."""
    instance, examples = drawn("parity:5", 400, 50, 0)
    with pytest.raises(ArgumentError, match=r"all 5-subsets of 400 positions on 50 samples.*shorter context"):
        fitted(Consistent("junta"), instance, examples)


@given(st.integers(0, 2**32), st.booleans(), st.integers(1, 30))
def test_negated_parities_are_fitted_with_a_constant_term(seed, negated, samples):
    """The affine equations fit every sample of a parity or its negation; once one solution is left it is that one."""
    instance, examples = drawn("~(x1 ^ x2)" if negated else "x1 ^ x2", 7, samples, seed)
    found = fitted(LinearParity(affine=True), instance, examples)
    assert (found.predict(examples.inputs) == examples.labels).all()
    assert found.numbers["consistent"] == 1
    every = np.array(list(product((0, 1), repeat=7)), dtype=np.uint8)
    if found.numbers["rank"] == 8:
        assert (found.predict(every) == instance.truth(every)).all()
        linear = fitted(LinearParity(), instance, examples)
        assert linear.numbers["consistent"] == float(not negated)


@pytest.mark.parametrize("name", [name for name in BASELINES if not name.startswith("sklearn")])
def test_exact_baselines_say_what_they_assume(name):
    """They say with every answer that labels are without noise, and of what kind; none claims to bear noise."""
    learner = learner_named(name)
    assert "without noise" in learner.remark
    assert not learner.bears_noise


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BASELINES, "sklearn:neighbors.KNeighborsClassifier"])
def test_every_baseline_is_a_learner(name):
    """It comes back from its record, answers every input with a bit, and the same seed gives the same answers."""
    learner = learner_named(name)
    assert learner.name == name
    assert learner_from_record(learner.record()) == learner
    instance, examples = drawn("parity:2" if name.startswith("gf2") else "and:2", 8, 40, 5)
    inputs = instance.inputs(200, np.random.default_rng(0))
    answers = fitted(learner, instance, examples).predict(inputs)
    assert answers.dtype == bool
    assert answers.shape == (200,)
    assert (fitted(learner, instance, examples).predict(inputs) == answers).all()
    with pytest.raises(ArgumentError, match=f"{name} was asked to learn online, but it reads a training set"):
        run(RunSpec(SparseTask("and:2"), learner, 8, None, 0))


@pytest.mark.parametrize("name", [name for name in BASELINES if not name.startswith("sklearn")])
def test_exact_baselines_read_bits(name):
    """An alphabet of four symbols is refused by those that read bits."""
    with pytest.raises(ArgumentError, match="reads bits, and this task has 4 symbols"):
        run(RunSpec(SparseTask("and:2", symbols=4), learner_named(name), 6, 10, 0))


def test_an_estimator_reads_any_alphabet():
    """A tree learns a conjunction over four symbols from their one-hot codes."""
    instance = SparseTask("and:2", symbols=4).instance(4, np.random.default_rng(0))
    examples = instance.training_set(600, np.random.default_rng(1))
    fresh = instance.inputs(500, np.random.default_rng(2))
    assert (fitted(Estimator("tree"), instance, examples).predict(fresh) == instance.truth(fresh)).mean() > 0.99


def test_an_estimator_takes_settings_and_survives_one_class():
    """Settings reach the class and come back from the record; labels all alike are learned as they are."""
    stump = Estimator("tree", (("max_depth", 1),))
    assert learner_from_record(stump.record()) == stump
    instance, examples = drawn("and:3", 6, 200, 0)
    assert fitted(stump, instance, examples).predict.model.get_depth() == 1
    nothing = Examples(examples.inputs, np.zeros(200, dtype=bool))
    assert not fitted(Estimator("logistic"), instance, nothing).predict(examples.inputs).any()


@pytest.mark.parametrize("name", ["sklearn:oak", "sklearn:os.path.join", "sklearn:tree.export_text!"])
def test_refuses_what_is_no_estimator(name):
    """A name that is neither short nor a module and a class is refused before anything is imported."""
    with pytest.raises(ArgumentError, match=r"use tree, logistic, forest, lasso, mlp, or a module and class"):
        learner_named(name)


NO_CLASSIFIERS = {
    "functions": ["datasets.clear_data_home", "datasets.load_iris", "datasets.fetch_openml"],
    "of no public module": ["os.system", "utils.Bunch", "base.ClassifierMixin", "nowhere.Tree", "conftest.pytest"],
    "objects and modules": ["tree._classes", "ensemble._forest", "tree.__doc__", "clone.x"],
    "regressors": ["linear_model.LinearRegression", "dummy.DummyRegressor", "isotonic.IsotonicRegression"],
    "clusterers": ["cluster.KMeans"],
    "outlier detectors": ["svm.OneClassSVM", "ensemble.IsolationForest"],
    "transformers of data": ["preprocessing.StandardScaler"],
    "hidden classes": ["naive_bayes._BaseNB", "tree.BaseDecisionTree"],
    "no names": ["tree.", ".tree", "tree.Oak", "oak"],
}  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kinds in NO_CLASSIFIERS.values() for kind in kinds])
def test_only_classifiers_are_learners(kind):
    """What is not a classifier of scikit-learn is refused when it is named, and when a record names it."""
    for named in (lambda: learner_named(f"sklearn:{kind}"), lambda: learner_from_record({"name": f"sklearn:{kind}"})):
        with pytest.raises(ArgumentError, match="sklearn:") as told:
            named()
        assert "\n" not in str(told.value)


def test_nothing_is_called_to_find_out_what_it_is(monkeypatch):
    """A function of scikit-learn is not run by being named: neither by a name nor by a record with settings."""
    import sklearn.datasets

    called = []
    monkeypatch.setattr(sklearn.datasets, "clear_data_home", lambda *_, **__: called.append(1))
    for settings in ({}, {"data_home": "somewhere"}):
        with pytest.raises(ArgumentError, match="is not a classifier"):
            learner_from_record({"name": "sklearn:datasets.clear_data_home", "settings": settings})
    assert not called


@pytest.mark.parametrize("module", ["conftest", "utils", "base", "_config", "tests"])
def test_only_public_modules_are_imported(monkeypatch, module):
    """A module that scikit-learn does not list is not imported, for importing runs it."""
    imported = []
    monkeypatch.setattr("keyhole.training.learners.scikit.import_module", imported.append)
    with pytest.raises(ArgumentError, match="is not a classifier"):
        learner_named(f"sklearn:{module}.Anything")
    assert not imported


def test_a_name_that_was_not_looked_at_is_looked_at_before_it_is_made():
    """A learner that came round the gate, as a pickled one could, is still not called when it learns."""
    instance, examples = drawn("and:2", 6, 50, 0)
    smuggled = Estimator("tree")
    object.__setattr__(smuggled, "kind", "datasets.load_iris")
    with pytest.raises(ArgumentError, match="is not a classifier"):
        fitted(smuggled, instance, examples)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("ensemble.VotingClassifier", ()),
        ("multiclass.OneVsRestClassifier", ()),
        ("tree", (("nonsense", 1),)),
        ("tree", (("self", 1),)),
    ],
)
def test_settings_that_a_class_does_not_take_are_refused(kind, settings):
    """A setting that is missing or unknown is refused when the learner is named, before any run."""
    with pytest.raises(ArgumentError, match=f"scikit-learn makes no {kind} with these settings"):
        Estimator(kind, settings)


@pytest.mark.parametrize("settings", [3, "max_depth", [1], {"max_depth": [1]}, {"max_depth": {}}, {3: 1}])
def test_settings_of_a_record_are_plain(settings):
    """Settings read back are names with numbers, texts or nothing; others are refused in a sentence."""
    with pytest.raises(ArgumentError, match="settings of sklearn:tree"):
        learner_from_record({"name": "sklearn:tree", "settings": settings})


@pytest.mark.parametrize("kind", ["neighbors.KNeighborsClassifier", "semi_supervised.SelfTrainingClassifier"])
def test_what_a_classifier_cannot_learn_is_told(kind):
    """A classifier that refuses a training set is told in a sentence with its own reason."""
    instance = SparseTask("and:1").instance(6, np.random.default_rng(0))
    inputs = np.eye(3, 6, dtype=np.uint8)
    examples = Examples(inputs, np.array([True, False, False]))
    with pytest.raises(ArgumentError, match=f"sklearn:{kind} cannot learn") as told:
        fitted(Estimator(kind), instance, examples).predict(inputs)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "kind", ["neighbors.KNeighborsClassifier", "naive_bayes.BernoulliNB", "svm.SVC", "linear_model.RidgeClassifierCV"]
)
def test_classifiers_by_their_class_still_learn(kind):
    """A class of scikit-learn that is a classifier is taken, and learns one position."""
    instance, examples = drawn("and:1", 6, 200, 0)
    learner = learner_named(f"sklearn:{kind}")
    assert learner_from_record(learner.record()) == learner
    fresh = instance.inputs(200, np.random.default_rng(2))
    assert (fitted(learner, instance, examples).predict(fresh) == instance.truth(fresh)).mean() > 0.9


def test_the_lasso_leaves_irrelevant_coefficients_at_zero():
    """With an ℓ1 penalty every coefficient but the relevant one is exactly 0; with an ℓ2 penalty none is."""
    instance, examples = drawn("and:1", 40, 60, 0)
    for learner, expected in (("sklearn:lasso", instance.function.positions), ("sklearn:logistic", tuple(range(40)))):
        (coefficients,) = fitted(learner_named(learner), instance, examples).predict.model.coef_
        assert tuple(np.flatnonzero(coefficients)) == expected


def test_names_that_stand_for_settings_spell_them_out():
    """The lasso is logistic regression with an ℓ1 penalty, by name as by its settings, and its record says so."""
    named, given = (
        learner_named("sklearn:lasso"),
        Estimator("lasso", (("C", 1.0), ("l1_ratio", 1.0), ("solver", "liblinear"))),
    )
    assert named == given == Estimator("lasso")
    assert named.record()["settings"] == {"C": 1.0, "l1_ratio": 1.0, "solver": "liblinear"}
    assert learner_from_record(named.record()) == named
    assert Estimator("lasso", (("C", 2.0),)) != named
