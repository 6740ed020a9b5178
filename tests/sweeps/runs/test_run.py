"""What a run hands to its learner: the size of the problem and examples, or a source of them; never the function."""

import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

from keyhole.boolean.function import SparseFunction
from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.run import RunSpec, learn, run
from keyhole.training.learners import Fitted, Learner
from keyhole.training.task import Examples, Instance, Observer, ProblemSize, SampleSource, SparseTask

TASK = SparseTask("and:2")


@dataclass(frozen=True)
class Spy(Learner):
    """A learner that remembers what it was given, and answers 0."""

    given: list = field(default_factory=list, compare=False)

    @property
    def name(self):
        """How a person names it."""
        return "spy"

    def record(self):
        """Its name."""
        return {"name": self.name}

    def fit(self, *given):
        """Remember, and learn nothing."""
        self.given.extend(given)
        return Fitted(lambda inputs: np.zeros(len(inputs), dtype=bool))


@dataclass(frozen=True)
class OnlineSpy(Spy):
    """A spy that also learns online, and takes readings."""

    def with_observer(self, observer):
        """Remember the observer."""
        self.given.append(observer)
        return self

    def fit_online(self, *given):
        """Remember, and learn nothing."""
        return self.fit(*given)


def test_a_learner_is_given_size_examples_and_seed():
    """Nothing else reaches a learner that takes no readings, and none of it holds the function or the instance."""
    spy = Spy()
    instance, examples, _ = learn(RunSpec(TASK, spy, 6, 20, 0))
    assert [type(each) for each in spy.given] == [ProblemSize, Examples, np.random.SeedSequence]
    assert spy.given[0] == instance.size
    assert spy.given[1] is examples
    text = pickle.dumps(spy.given)
    assert not any(name.encode() in text for name in (SparseFunction.__name__, Instance.__name__))


def test_online_a_learner_is_given_a_source():
    """In place of examples there is a source of fresh ones; who takes readings is given an observer first."""
    spy = OnlineSpy()
    learn(RunSpec(TASK, spy, 6, None, 0))
    assert [type(each) for each in spy.given] == [Observer, ProblemSize, SampleSource, np.random.SeedSequence]
    assert len(spy.given[2].draw(7, np.random.default_rng(0)).labels) == 7


@pytest.mark.parametrize(
    ("learner", "task", "sentence"),
    [
        (Spy(), TASK, "spy was asked to learn online, but it reads a training set; give sample sizes"),
        (OnlineSpy(), SparseTask("and:2", feature_noise=0.1), "feature noise needs a training set"),
    ],
)
def test_what_cannot_be_learned_online_is_refused(learner, task, sentence):
    """The sentence comes before the learner is given anything."""
    with pytest.raises(ArgumentError, match=sentence):
        run(RunSpec(task, learner, 6, None, 0))
    assert learner.given == []
