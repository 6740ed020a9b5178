"""Learners by name: registered in their own files, rebuilt from their records, the library's own not replaced."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import keyhole
from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.store import Store
from keyhole.training.learners import (
    Fitted,
    Learner,
    base,
    learner_from_record,
    learner_named,
    learner_names,
    register_learner,
)

PACKAGE = Path(keyhole.__file__).parent


@dataclass(frozen=True)
class Constant(Learner):
    """Answers the same to everything."""

    answer: bool = False
    name: ClassVar[str] = "constant"

    def fit(self, _size, _examples, _seed):
        """Learn nothing."""
        return Fitted(lambda inputs: np.full(len(inputs), self.answer))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(base, "_LEARNERS", dict(base._LEARNERS))


def test_a_learner_of_ones_own_has_a_name_once_registered():
    """It is made by its name and from its record; before, the sentence says what to do."""
    with pytest.raises(ArgumentError, match=r".constant. is not a learner; there are .*elimination"):
        learner_named("constant")
    with pytest.raises(ArgumentError, match=r"'constant' is not registered; .*register_learner"):
        learner_from_record(Constant(answer=True).record())
    register_learner("constant", Constant, Constant.from_record)
    assert learner_named("constant") == Constant()
    assert learner_from_record(Constant(answer=True).record()) == Constant(answer=True)
    assert "constant" in learner_names()


def test_a_family_makes_learners_from_the_rest_of_a_name():
    """Names with a prefix and a colon are the family's; the prefix alone is nobody's."""
    register_learner("constant:", lambda answer: Constant(answer == "yes"), Constant.from_record)
    assert learner_named("constant:yes") == Constant(answer=True)
    for name in ("constant", "constant:"):
        with pytest.raises(ArgumentError, match="is not a learner"):
            learner_named(name)


def test_the_librarys_names_are_its_own():
    """A name of one's own may be registered again, as a notebook does; one of the library's is refused."""
    register_learner("constant", Constant, Constant.from_record)
    register_learner("constant", lambda: Constant(answer=True), Constant.from_record)
    assert learner_named("constant") == Constant(answer=True)
    with pytest.raises(ArgumentError, match="called 'gf2', and keyhole has one"):
        register_learner("gf2", Constant, Constant.from_record)


def test_a_value_needs_no_registration(tmp_path):
    """A learner handed over as a value is swept, and a second sweep finds its runs."""
    here = {"schedule": keyhole.Schedule(samples=[4, 8], seeds=3), "execution": keyhole.Execution(tmp_path, workers=0)}
    first, second = (keyhole.learn("and:2", [5], Constant(), **here) for _ in range(2))
    assert (first.made, second.made) == (6, 0)
    with Store(tmp_path) as store:
        assert {row.learner for row in store.rows()} == {"constant"}


def test_who_cannot_learn_online_is_refused():
    """A learner without `fit_online` is refused in a sentence, before anything is run."""
    with pytest.raises(ArgumentError, match="constant was asked to learn online, but it reads a training set"):
        keyhole.learn("and:2", [5], Constant(), schedule=keyhole.Schedule(online=True))


@pytest.mark.slow
def test_a_file_in_the_folder_is_a_learner_of_the_library(tmp_path):
    """One new file registers its learner, is found by name, and nothing imports jax or scikit-learn for it."""
    package = tmp_path / "keyhole"
    program = (
        "import shutil, sys; from pathlib import Path\n"
        f"shutil.copytree({str(PACKAGE)!r}, {str(package)!r})\n"
        f"source = Path({str(package)!r}) / 'training' / 'learners'\n"
        "text = (source / 'elimination.py').read_text().split('register_learner(\"elimination\"')[0]\n"
        "text += 'register_learner(\"mine\", Elimination)'\n"
        "(source / 'a_file_of_mine.py').write_text(text)\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from keyhole.training.learners import learner_named\n"
        "print(type(learner_named('mine')).__module__, *{'jax', 'sklearn'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["keyhole.training.learners.a_file_of_mine"], done.stderr
