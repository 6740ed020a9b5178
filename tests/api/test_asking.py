"""Wrong types get one sentence from every public function, and a path may be text everywhere."""

from inspect import getsource, signature
from pathlib import Path

import numpy as np
import pytest

import keyhole
from keyhole.api.asking import fits, words
from keyhole.errors import ArgumentError, KeyholeError

WRONG = {
    "describe a number": lambda: keyhole.describe(3),
    "describe nothing": lambda: keyhole.describe(None),
    "describe bytes": lambda: keyhole.describe(b"x1"),
    "describe at half a position": lambda: keyhole.describe("x1", context=9.5),
    "describe with a seed in words": lambda: keyhole.describe("random:3", seed="1"),
    "compile at half a position": lambda: keyhole.compile("and:3", 64.5),
    "compile at True": lambda: keyhole.compile("x0", True),  # noqa: FBT003
    "compile at text": lambda: keyhole.compile("and:3", "64"),
    "compile with gamma in words": lambda: keyhole.compile("and:3", 64, gamma="half"),
    "compile a list": lambda: keyhole.compile(["x1"], 64),
    "check a number": lambda: keyhole.check(3),
    "check nothing": lambda: keyhole.check(None),
    "bound a number": lambda: keyhole.bound(3, 1e6),
    "bound with samples in words": lambda: keyhole.bound("and:3", "1e6", 100),
    "certify a number": lambda: keyhole.certify(3),
    "certify a dictionary": lambda: keyhole.certify({}),
    "certify with data of one array": lambda: keyhole.certify("x.safetensors", np.zeros((3, 3))),
    "certify with a junta in words": lambda: keyhole.certify("x.safetensors", assume_junta="3"),
    "learn at one context": lambda: keyhole.learn("and:3", 25),
    "learn at contexts in words": lambda: keyhole.learn("and:3", "25,50"),
    "learn at halves": lambda: keyhole.learn("and:3", [25.5]),
    "learn a number": lambda: keyhole.learn(3, [25]),
    "learn with samples as a number": lambda: keyhole.learn("and:3", [25], samples=16),
    "learn with seeds in words": lambda: keyhole.learn("and:3", [25], samples=[16], seeds="3"),
    "learn beside one name": lambda: keyhole.learn("and:3", [25], beside="elimination"),
    "learn by a number": lambda: keyhole.learn("and:3", [25], learner=3),
    "learn with an executor in words": lambda: keyhole.learn("and:3", [25], executor="dask"),
    "learn into a number": lambda: keyhole.learn("and:3", [25], store=3),
    "runs of a number": lambda: keyhole.runs(task=3),
    "runs at one context": lambda: keyhole.runs(contexts=25),
    "show a number": lambda: keyhole.show_run(3),
    "forget names": lambda: keyhole.forget_runs(["abcd"]),
    "infer of a number": lambda: keyhole.infer(3, [8]),
    "infer at one size": lambda: keyhole.infer("gaussian", 8),
    "infer at sizes in words": lambda: keyhole.infer("gaussian", "8,16"),
    "infer by one kind": lambda: keyhole.infer("gaussian", [8], attention="softmax"),
    "infer with repeats in words": lambda: keyhole.infer("gaussian", [8], repeats="9"),
    "exchangeable lists": lambda: keyhole.exchangeable([[0, 1], [1, 0]]),
    "exchangeable with a level in words": lambda: keyhole.exchangeable(np.zeros((3, 3)), level="5%"),
    "exchangeable with half a permutation": lambda: keyhole.exchangeable(np.zeros((3, 3)), permutations=9.5),
    "score numbers": lambda: keyhole.score(3, 4),
    "score with a model as number": lambda: keyhole.score("key.json", "a.npy", model=3),
    "a suite with a seed in words": lambda: keyhole.make_suite(2, 64, "1"),
    "a suite of half a model": lambda: keyhole.make_suite(1.5, 64),
    "reproduce one name": lambda: keyhole.reproduce("floor"),
    "reproduce at another scale": lambda: keyhole.reproduce(scale="huge"),
    "reproduce into a number": lambda: keyhole.reproduce(["floor"], folder=3),
    "verify a number": lambda: keyhole.verify(3, "majority"),
    "verify a claim that is a number": lambda: keyhole.verify("m.safetensors", 3),
    "norms of a number": lambda: keyhole.norms(3),
    "norms of a checkpoint that is a number": lambda: keyhole.checkpoint_norms(3),
    "norms of a later checkpoint that is a number": lambda: keyhole.checkpoint_norms("minilm", 3),
    "heads of a number": lambda: keyhole.heads(3),
    "the order of a number": lambda: keyhole.model_order(3),
    "bounds of runs with delta in words": lambda: keyhole.bound_runs(delta="1%"),
    "save a description as a number": lambda: keyhole.describe("x1").save(3),
    "save a model as nothing": lambda: keyhole.compile("x1", 8).save(None),
    "save a suite as a number": lambda: keyhole.make_suite(1, 8).save(3),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_wrong_type_is_refused_in_one_sentence(call):
    """The sentence names the function, the argument, what was given, and what to give."""
    with pytest.raises(ArgumentError, match=r"^\w+ was given \w+ = .*; give .+\.$"):
        call()


@pytest.mark.parametrize("call", [lambda: keyhole.infer("gp"), lambda: keyhole.runs(context=[25])])
def test_arguments_that_lack_or_are_unknown_are_refused_in_one_sentence(call):
    """The sentence names the function, the argument, and all that the function takes."""
    with pytest.raises(ArgumentError, match=r"^(infer|runs): .*'(sizes|context)'; it takes (model, sizes|task), .+\.$"):
        call()


def test_every_public_function_looks_at_its_arguments():
    """A function that takes arguments and is offered by the package has its types looked at, whoever adds it."""
    offered = [getattr(keyhole, name) for name in keyhole.__all__ if name.islower()]
    functions = [each for each in offered if callable(each) and signature(each).parameters]
    assert len(functions) > 20
    assert [each.__name__ for each in functions if "@check_arguments" not in getsource(each)] == []


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_no_store_can_hold_is_refused(seed, tmp_path):
    """Seeds are whole numbers of 63 bits, asked before anything is run."""
    with pytest.raises(KeyholeError, match="seed"):
        keyhole.learn("and:2", [8], samples=[8], seeds=1, learner="elimination", seed=seed, store=tmp_path)
    assert not list(tmp_path.iterdir())


def test_numbers_of_numpy_are_numbers():
    """What counts in numpy counts here; a truth value does not."""
    assert fits(np.int64(3), int)
    assert fits(np.float32(3), float)
    assert fits(3, float)
    assert not fits(True, int)  # noqa: FBT003
    assert not fits(np.bool_(True), int)  # noqa: FBT003
    assert words(int | None) == "a whole number or None"


@pytest.mark.slow
def test_a_path_may_be_text(tmp_path, monkeypatch):
    """Every function that reads or writes a place takes its name as text."""
    monkeypatch.chdir(tmp_path)
    keyhole.compile("x1 & x2", 8).save("and.safetensors")
    assert keyhole.check("and.safetensors").holds
    assert keyhole.certify("and.safetensors").status == "PROVED"
    keyhole.learn("and:2", [8], samples=[8], seeds=1, learner="elimination", workers=1, store="kept")
    (run,) = keyhole.runs(store="kept")
    assert keyhole.show_run(run.identity, store="kept").run.row == run
    keyhole.runs(store="kept").save("runs.csv")
    assert Path("runs.csv").exists()


def test_a_compiled_function_is_certified_as_it_is():
    """`certify` takes what `compile` gives, signs and bits alike."""
    for output in ("signs", "bits"):
        certified = keyhole.certify(keyhole.compile("x1 & ~x2", 8, output=output))
        assert (certified.status, certified.function) == ("PROVED", "x1 & ~x2")
