"""Models that pass 10⁵ random tests: how many of them are wrong somewhere?

The models are stored in `tested_models.npz`: one layer and one head in GPT-2's layout, of width 8, trained on words of up
to 31 symbols by `python examples/zoo/train.py TASK --width 8 --longest 31 --steps 3000 --seed SEED --out TASK-SEED`; one
of width 16 on up to 101 symbols (`train.py majority --out long-0`), which is reported beside them. They were put together
by `python examples/zoo/pack.py FOLDER… --out FILE`. Nothing is trained here.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from keyhole.api.length_verdict import LengthVerdict
from keyhole.api.prove import Effort
from keyhole.api.prove_claim import Words, prove_claim
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.verdict import share_of
from keyhole.checkpoints import Checkpoint, load_checkpoint
from keyhole.figure import Axis, Figure

CLAIM = Claim(
    id="tested-models",
    title="Are small trained models that pass 100,000 random tests wrong on some word?",
    statement=(
        "Among one-layer models trained on majority and on a threshold of three, of those that answer 100,000 random words of the longest "
        "length of training without an error, most are wrong on some word of that length."
    ),
    formula=r"\Pr_{\text{model}}\big[\exists w\in\{0,1\}^{31}:\ f(w)\ \text{wrong}\ \big|\ 10^5\ \text{random}\ w\ \text{right}\big]>\tfrac12",
    kind="measurement",
    source="keyhole (a proof or a wrong word for every model and length; how often either comes is measured)",
    prediction=(
        "At T = 31, the longest length of training, more than half of the stored models without an error on 100,000 random words are wrong "
        "on some word, by the whole 95 % interval. Shorter lengths, and a model trained on longer words, are reported."
    ),
    could_fail="A share of wrong models whose 95 % interval lies below ½.",
)

STORED = Path(__file__).with_name("tested_models.npz")
ASKED = {"majority": "majority", "threshold": "at least 3 of 1", "long": "majority"}
LONGEST = 31  # the longest word of training
LENGTHS = {"quick": (11, 21, LONGEST), "paper": tuple(range(3, LONGEST + 1, 2))}
LONGER = {"quick": (75, 91), "paper": tuple(range(33, 102, 2))}  # of the model trained on longer words
SAMPLES = 100_000
SECONDS = {"quick": 1.0, "paper": 20.0}  # for one model at one length


@dataclass(frozen=True)
class Tested:
    """One model at one length."""

    task: str
    row: LengthVerdict

    @property
    def passed(self) -> bool:
        """Return whether no random word was answered wrongly."""
        return self.row.sampled_wrong == 0

    @property
    def wrong(self) -> bool:
        """Return whether some word is."""
        return self.row.status == "COUNTEREXAMPLE"


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Every stored model at every length: random words, then a proof or a wrong word."""
    tested = []
    with TemporaryDirectory() as folder:
        for task, checkpoint in stored_models():
            proof = prove_claim(
                checkpoint,
                ASKED[task],
                (LONGER if task == "long" else LENGTHS)[scale],
                words=Words(before=("2",), read_at="3"),
                effort=Effort(SECONDS[scale], SAMPLES, seed),
                store=folder,
            )
            tested += [Tested(task, row) for row in proof.lengths]
    beside = [model for model in tested if model.task == "long" and model.passed]
    tested = [model for model in tested if model.task != "long"]
    passed = [model for model in tested if model.passed]
    shares = {
        length: share_of([each.wrong for each in passed if each.row.length == length]) for length in LENGTHS[scale]
    }
    groups: dict[tuple[str, int], list[bool]] = {}
    for model in sorted([*passed, *beside], key=lambda model: (list(ASKED).index(model.task), model.row.length)):
        groups.setdefault((model.task, model.row.length), []).append(model.wrong)
    longest = shares[LONGEST]
    undecided = sum(model.row.status == "UNDECIDED" for model in passed)
    by_length = "; ".join(f"T = {length}: {share.hits} of {share.runs}" for length, share in shares.items())
    numbers = {
        "models": float(len(tested) / len(LENGTHS[scale])),
        "passed": float(len(passed)),
        "wrong": float(sum(model.wrong for model in passed)),
        "proved": float(sum(model.row.status == "PROVED" for model in passed)),
        "undecided": float(undecided),
        "longer_passed": float(len(beside)),
        "longer_wrong": float(sum(model.wrong for model in beside)),
    }
    return Outcome(
        longest.most,
        f"Of the models without an error on {SAMPLES:,} random words, those wrong on some word: {by_length}. Beside them, a "
        f"model trained on up to 101 symbols is wrong somewhere at {sum(model.wrong for model in beside)} of {len(beside)} "
        f"longer lengths at which it passes.",
        numbers,
        f"at T = {LONGEST}: {longest}",
        (
            Figure(
                title="Models that pass 100,000 random tests, and are wrong somewhere",
                subtitle="share of the stored models without an error on random words for which a wrong word is shown",
                kind="points",
                rows=tuple(
                    {"T": length, "share": share_of(wrong).value, "task": task}
                    for (task, length), wrong in groups.items()
                ),
                x=Axis("T", "length of the word T"),
                y=Axis("share", "share wrong somewhere"),
                colour=Axis("task", "", "category"),
            ),
        ),
        caveats=(
            f"{undecided} of {len(passed)} pairs of model and length that pass are undecided, and count as not wrong.",
            "The models are few, small and of one recipe; half of the random words are uniform, half have a random share of ones.",
        ),
    )


def stored_models() -> Iterator[tuple[str, Checkpoint]]:
    """The task of each stored model, and the model."""
    with np.load(STORED, allow_pickle=False) as arrays:
        names = sorted({name.split("/")[0] for name in arrays.files})
        for name in names:
            tensors = {key.split("/", 1)[1]: arrays[key] for key in arrays.files if key.startswith(f"{name}/")}
            config = json.loads(str(tensors.pop("config")))
            yield name.split("-")[0], load_checkpoint(tensors, config=config)
