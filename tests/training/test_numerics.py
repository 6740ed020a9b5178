"""Runs whose outcomes are written down: they change only with NUMERICS.

When a test here fails because numbers were changed on purpose, raise NUMERICS in training/learners/base.py, so that no
store mixes runs of before with runs of after, and write down what comes out then. A new field in a record changes the
identity of every run and with it what is drawn: no store can mix those, and only the values here are to be written
down anew.
"""

import hashlib

import pytest

from keyhole.sweeps.runs.run import RunSpec, data_of, run
from keyhole.training.learners import NUMERICS
from keyhole.training.learners.base import learner_named
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.task import SparseTask

HASTY = TransformerLearner(TransformerSettings(heads=2, width=8, hidden=8, batch=16, steps=200, every=50, rate=1.5e-3))


def drawn(spec):
    """SHA-256 of the training set, inputs and then labels, a byte each."""
    _, examples = data_of(spec)
    return hashlib.sha256(examples.inputs.tobytes() + examples.labels.tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("learner", "task", "context", "samples", "function", "accuracy", "numbers", "digest"),
    [
        (
            "elimination",
            "and:3",
            20,
            24,
            "x5 & x7 & x8",
            0.9025,
            {"literals": 5.0},
            "7077326e589be14ad63ee896cc69e8c923d7f72bb0d5c590734b4c5d0156c4d0",
        ),
        (
            "elimination:signed",
            "and:3",
            20,
            24,
            "x13 & x14 & x16",
            0.8839,
            {"literals": 8.0},
            "ee1b412d33be0b016197962dfdd0956645617f4c43a83aabbf13965de961720a",
        ),
        (
            "gf2",
            "parity:3",
            20,
            12,
            "x7 ^ x15 ^ x17",
            0.4967,
            {"consistent": 1.0, "rank": 12.0},
            "692a357b44cd726b7fa6dae4fe6f10bfc55e91d1f7576e332381cde46d08fc3a",
        ),
        (
            "gf2",
            "parity:3",
            20,
            22,
            "x0 ^ x8 ^ x12",
            1.0,
            {"consistent": 1.0, "rank": 20.0},
            "b99e559fae427510a0d40e04bf475548553b4755de067b30dadcc23a7bf53548",
        ),
        (
            "consistent:and",
            "and:3",
            20,
            12,
            "x7 & x13 & x16",
            0.8182,
            {"consistent": 1.0},
            "fca247f97dd42834760c7ed059a8ae90250554d004ff1f6463c7c450aac84bb3",
        ),
        (
            "consistent:junta",
            "random:3",
            12,
            12,
            "table(01111010; x2, x9, x10)",
            0.8742,
            {"consistent": 1.0},
            "95acf5032597fcb2ce939e958488809e1e55ccbf969443eac935277cdd3c97ab",
        ),
        (
            "consistent:junta",
            "majority:3",
            12,
            16,
            "maj(x2, x4, x5)",
            0.6301,
            {"consistent": 1.0},
            "ca93c023461b2b16a8d27c161704a15d6c34680f0160decdff5766f12df55131",
        ),
    ],
)
def test_exact_baselines_have_their_stored_outcomes(
    learner, task, context, samples, function, accuracy, numbers, digest
):
    """What a baseline in whole numbers hides, sees, finds and answers is the same on every machine while NUMERICS is.

    When this fails because numbers were changed on purpose, raise NUMERICS and write down the new ones.
    """
    assert NUMERICS == 1
    spec = RunSpec(SparseTask(task), learner_named(learner), context, samples, 0)
    result = run(spec)
    assert (result.function, result.accuracy, dict(result.numbers)) == (function, accuracy, numbers)
    assert drawn(spec) == digest


@pytest.mark.slow
def test_a_tiny_transformer_has_its_stored_outcome():
    """Hidden positions and training set are exact; the half-learned network is as often right, and as sure, as it was.

    Two hundred small steps leave rounding little room: programs compiled for other instruction sets, or without
    optimisation, agree to 1e-5 in the loss, while a rate, b2, decay or warm-up a little different moves it by 0.03 and
    more. When this fails because numbers were changed on purpose, raise NUMERICS and write down the new ones.
    """
    assert NUMERICS == 1
    spec = RunSpec(SparseTask("x0"), HASTY, 8, 40, 1)
    result = run(spec)
    assert (result.function, result.positions, result.steps) == ("x2", (2,), 200)
    assert drawn(spec) == "cfd22db5230512c838e092b43b6fb2b291170d4963335c50824e0544f0049ea8"
    assert abs(result.accuracy - 0.7563) <= 0.02
    assert abs(result.readings[-1]["loss"] - 0.5026) <= 0.005


@pytest.mark.parametrize(
    ("learner", "identity"),
    [
        ("transformer", "878fe5fc90f751ca0d4c82d179dc480f828f84035ea4595c1c8e9ad8d84ca4c7"),
        ("transformer:parity", "81330ee7bd7261fddad8ae8dd669f63d2a97420a337b7277eaa2e4a89a7024bf"),
        ("transformer:bounded", "d84ef2678208cdc5c0536224b688be47470c566c7f3402db76eebd4aa742a731"),
        ("transformer:paper", "72b1cc53bcad532adc5fb9597d08e42e87739eadf57ac4d39e1708c8a0eee165"),
    ],
)
def test_the_presets_keep_their_names(learner, identity):
    """The identity of a run is what it was: settings that came later are in no record that does not use them.

    That of `paper` changes with the numerics of learners that drop weights of attention, which are 2.
    """
    assert RunSpec(SparseTask("and:3"), learner_named(learner), 20, 30, 0).identity == identity


def test_records_without_the_later_settings_are_read_as_they_were_meant():
    """A run of the paper's preset from before its final norm is made again without one, under its own name."""
    before = learner_named("transformer:paper").record()
    assert "path_penalty" not in before
    for name in ("final_norm", "attention_dropout", "cls_position"):
        del before[name]
    learner = TransformerLearner.from_record(before)
    later = learner.settings.final_norm, learner.settings.attention_dropout, learner.settings.cls_position
    assert not any(later)
    assert learner.record() == before
    spec = RunSpec(SparseTask("and:3"), learner, 20, 30, 0)
    assert spec.identity == "23fb87a21db0492f835c90b1909bed7e2588ddade1bb340cb67847c12c6789e1"
    assert (learner.remark, learner_named("transformer:paper").remark[:16]) == ("", "the preset paper")
