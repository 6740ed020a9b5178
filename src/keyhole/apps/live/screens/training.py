"""Watch it learn: one training run, frame by frame, and the certificate of that very run."""

import re

from keyhole.api.prove import Effort, prove
from keyhole.api.stored_run import read_run
from keyhole.apps.live.limits import FORMULA, TRAINING
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Command, Screen, Serving, require_small
from keyhole.errors import ArgumentError

IDENTITY = re.compile(r"[0-9a-f]{12,64}")
TIME_LIMIT = 3.0  # seconds of a proof
EVERY = 10  # steps between two frames
PRESETS = ("default", "parity", "paper", "bounded")


def start(query: Query, serving: Serving) -> Command:
    """The command of a run, with every value in range."""
    task = query.text("task", FORMULA, "and:3")
    sparsity = require_small(task)
    context = query.whole("context", max(sparsity, 1), TRAINING["context"], 60)
    samples = query.whole("samples", 1, TRAINING["samples"], 300)
    seed = query.whole("seed", 0, 10**6, 0)
    preset = query.choice("preset", PRESETS, "default")
    words = f"train --context {context} --samples {samples} --seed {seed} --learner transformer:{preset}".split()
    words += ["--set", f"every={EVERY}", "--frames", "--store", str(serving.store), "--", task]
    return Command(f"{task}, T = {context}, m = {samples}, seed {seed}", tuple(words))


def certificate(query: Query, serving: Serving) -> Answer:
    """Return the function that the network of a run computes, and whether that is proved."""
    run = query.text("run", 64)
    if not IDENTITY.fullmatch(run):
        raise ArgumentError("That is not the name of a run; start a training first.")
    answer = prove(read_run(run, serving.store), effort=Effort(TIME_LIMIT, samples=10_000))
    return {"summary": "; ".join(answer.text(1000).splitlines()), **answer.record()}


SCREEN = Screen(
    "training",
    "Watch it learn",
    "A small network learns a function of a few hidden positions. Guess first; then watch where its attention goes.",
    {"certificate": certificate},
    commands={"start": start},
)
