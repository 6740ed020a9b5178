"""Bad input drawn at random, by grammar and by mutation: one sentence or an answer, never a fault of keyhole.

A few seconds of it run with the suite. `KEYHOLE_FUZZ=5000 pytest tests/cli/test_fuzz.py` draws so many cases, from
other seeds each time, and writes those that fail to `fuzz-failures.txt`.
"""

import io
import json
import os
import random
import shlex
import signal
import sqlite3
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.files.norms import norms_template

from helpers.spoiling import spoilt, spoilt_json

CASES = int(os.environ.get("KEYHOLE_FUZZ", "0"))
SECONDS = 30  # a case that takes longer hangs
WORDS = ["x1", "x2", "x17", "0", "1", "&", "|", "^", "~", "(", ")", ",", ";", "maj", "and", "or", "parity", "not"]
WORDS += [
    "atleast",
    "symmetric",
    "table",
    "2",
    "0110",
    "0x96",
    "x",
    "x-1",
    "x99999999999999999999",
    "é",
    "　",
    "\t",
    ":",
]
FAMILIES = ["and", "or", "parity", "majority", "threshold", "random", "junta", "signed-and", "maj", "And", "", "１"]
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "-1",
    "1e2",
    "1e30",
    "1e99",
    "9" * 30,
    "nan",
    "inf",
    "0.5",
    "１",
    "1_0",
    "1__0",
]
NUMBERS += ["", " ", "0x10", "1e-300", "True", "null", "8..4", "4..8", "8,8", "1,,2", ",", "..", "1..", "x"]
PLACES = [
    "no",
    "no/such/x.svg",
    "x.svg",
    "x.json",
    "x.txt",
    "x.doc",
    "x" * 300,
    "file/x.txt",
    ".",
    "..",
    "",
    "\n",
    "é.txt",
]


def formula(rng):
    """Text by the grammar of formulas, spoilt now and then."""
    if rng.random() < 0.3:
        return f"{rng.choice(FAMILIES)}:{rng.choice(NUMBERS)}" + (
            f":{rng.choice(NUMBERS)}" if rng.random() < 0.3 else ""
        )
    if rng.random() < 0.5:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 9)))
    depth = rng.randint(1, 4)
    text = f"x{rng.randint(0, 40)}"
    for _ in range(depth):
        text = rng.choice(
            [f"~({text})", f"{text} & x{rng.randint(0, 9)}", f"maj({text}, x1, x2)", f"({text}", f"{text} |"]
        )
    return text


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Files that are right, of every kind that is read."""
    folder = tmp_path_factory.mktemp("right")
    run = CliRunner().invoke
    assert run(app, ["compile", "x1 & ~x5", "--context", "12", "--out", str(folder / "m.safetensors")]).exit_code == 0
    assert run(app, ["score", "suite", "1", "--context", "12", "--out", str(folder / "suite")]).exit_code == 0
    learn = ["learn", "and:2", "--context", "8", "--samples", "8", "--seeds", "2", "--learner", "elimination"]
    assert run(app, [*learn, "--workers", "1", "--store", str(folder / "store")]).exit_code == 0
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 2, (40, 12))
    labels = inputs[:, 1] & (1 - inputs[:, 5])
    np.savez(folder / "d.npz", inputs=inputs, labels=labels)
    np.save(folder / "s.npy", inputs[:12])
    np.save(folder / "a.npy", rng.random((5, 12)))
    np.savetxt(folder / "d.csv", np.c_[inputs, labels], fmt="%d", delimiter=",")
    (folder / "n.json").write_text(norms_template())
    store = sqlite3.connect(folder / "store" / "runs.sqlite")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.execute("PRAGMA journal_mode = DELETE")  # one file, to be spoilt
    store.close()
    return folder


TEMPLATES = """
    describe FORMULA --context NUMBER
    describe FORMULA --out PLACE
    compile FORMULA --context NUMBER --construction NAME
    compile FORMULA --context 16 --leak NUMBER --minimise NAME --out PLACE
    score suite NUMBER --context 4 --out PLACE
    bound FORMULA --samples NUMBER --context 100
    bound FORMULA --samples 1e6 --context NUMBER --out PLACE
    bound and:3 --samples 1e6 --context 100 --vary NUMBER
    bound and:3 --samples 1e6 --context 100 --delta NUMBER --gap NUMBER
    learn FORMULA --context NUMBER --samples 8 --seeds 1 --learner NAME
    learn FORMULA --context 8 --samples 0 --learner NAME
    learn and:2 --context 8 --samples x --law NUMBER --noise NUMBER --symbols NUMBER
    learn and:2 --context 8 --samples 8 --seeds NUMBER --set SETTING --learner elimination
    prove --run NAME --store RIGHT/store
    prove RIGHT/m.safetensors --samples 10 --time-limit NUMBER --out PLACE
    check PLACE
    fit RIGHT/d.csv --sparsity NUMBER --symbols NUMBER --time-limit 2
    fit RIGHT/d.csv --delta NUMBER --out PLACE --time-limit 2
    exchangeable RIGHT/s.npy --permutations 199 --level NUMBER --test NAME
    pretrain NAME --size NUMBER --mask NUMBER --repeats 0 --downstream NAME
    infer NAME --size NUMBER --repeats 2 --ridge NUMBER
    infer gp --size 4 --repeats 2 --attention NAME --kernel NAME --bandwidth NUMBER --out PLACE
    score RIGHT/suite/key.json RIGHT/a.npy --model NAME --top NUMBER --out PLACE
    runs list --context NUMBER --store RIGHT/store
    runs show NAME --store RIGHT/store --out PLACE
    runs list --out PLACE --store RIGHT/store
    runs prune --task NAME --store RIGHT/store
    reproduce --only NAME --out PLACE
    describe --help NAME
    NAME --help
    check BAD.safetensors
    prove BAD.safetensors --samples 10
    bound --file BAD.safetensors --samples 1e6
    prove FOREIGN.safetensors --samples 10
    fit BAD.csv --time-limit 2
    fit BAD.npz --time-limit 2
    prove RIGHT/m.safetensors --data BAD.npz --samples 10
    prove RIGHT/m.safetensors --data BAD.csv --samples 10
    exchangeable BAD.npy --permutations 199
    exchangeable BAD.csv --permutations 199
    bound --norms BAD.json --samples 1e6
    score KEY.json RIGHT/a.npy --model model-000
    score RIGHT/suite/key.json BAD.npy --model model-000
    runs --store STORE
    runs --json --store STORE
    runs show a --store STORE
    runs list --out r.csv --store STORE
""".strip().splitlines()
SOURCES = {".safetensors": "m.safetensors", ".npz": "d.npz", ".npy": "s.npy", ".csv": "d.csv", ".json": "n.json"}
NAMES = [
    "auto",
    "pair",
    "codes",
    "float16",
    "float16,float32",
    "gf2",
    "elimination",
    "sklearn:os.system",
    "transformer:no",
]
NAMES += [
    "sklearn:tree.no",
    "both",
    "gaussian",
    "gp",
    "softmax",
    "softmax,softmax",
    "linear",
    "model-000",
    "abcd",
    "zzzz",
    "",
]
NAMES += [",", "learn", "-x", "--version", "../x", "sharpness,", "no", "and:2"]
SETTINGS = [
    "width=x",
    "no=3",
    "heads=3",
    "rate=nan",
    "=",
    "width=32,width=16",
    "width=-64",
    "steps=7",
    "residual=maybe",
]


def spoil(rng, right, folder, name):
    """A spoilt copy of the right file of this name; of JSON, by its grammar more often than by its bytes."""
    content = (right / name).read_bytes()
    made = spoilt_json(rng, content) if name.endswith(".json") and rng.random() < 0.7 else spoilt(rng, content)
    file = folder / f"{rng.randrange(10**9)}{Path(name).suffix}"
    file.write_bytes(made)
    return str(file)


def filled(rng, right, folder, word):
    """What stands for a word of a template."""
    kind, _, ending = word.partition(".")
    if kind in ("BAD", "KEY"):
        return spoil(rng, right, folder, SOURCES[f".{ending}"] if kind == "BAD" else "suite/key.json")
    if kind == "FOREIGN":
        file = Path(spoil(rng, right, folder, "m.safetensors"))
        file.write_bytes(file.read_bytes().replace(b"keyhole-model", b"somebody-elses"))
        return str(file)
    if kind == "STORE":
        (folder / (name := str(rng.randrange(10**9)))).mkdir()
        (folder / name / "runs.sqlite").write_bytes(spoilt(rng, (right / "store" / "runs.sqlite").read_bytes()))
        return name
    listed = {"NUMBER": NUMBERS, "PLACE": PLACES, "NAME": NAMES, "SETTING": SETTINGS}
    drawn = formula(rng) if word == "FORMULA" else rng.choice(listed[word]) if word in listed else word
    return drawn.replace("RIGHT", str(right))


def command(rng, right, folder):
    """The words of a template, filled; now and then one more."""
    words = [filled(rng, right, folder, word) for word in rng.choice(TEMPLATES).split()]
    if rng.random() < 0.15:
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(["--json", "--seed", "-1", "extra", "--", "--out"]))
    return words


@contextmanager
def alarm(seconds):
    """Interrupt what takes more seconds of computing; how busy the machine is does not count."""

    def ring(*_):
        raise TimeoutError(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def complaint(words):
    """What is wrong with the answer to these words; empty where nothing is."""
    with warnings.catch_warnings(record=True) as told, alarm(SECONDS):
        warnings.simplefilter("always")
        answer = CliRunner().invoke(app, words)
    said = answer.stderr if answer.stderr_bytes is not None else ""
    noise = [str(each.message) for each in told if issubclass(each.category, RuntimeWarning)]
    if answer.exit_code not in (0, 1, 2):
        return f"exit {answer.exit_code}: {said[-300:]} {answer.exception!r}"
    if "Traceback" in answer.output:
        return f"traceback: {answer.output[-300:]}"
    if answer.exit_code == 2 and "keyhole: " not in said:
        return f"no sentence: {said[-300:]}"
    if answer.exit_code == 2 and noise:
        return f"noise: {noise[0]}"
    if answer.exit_code == 0 and "--json" in words:
        json.load(io.StringIO(answer.stdout)) if answer.stdout.startswith("{") else None
    return ""


@pytest.mark.slow
def test_bad_input_is_answered_or_refused(seeds, tmp_path, monkeypatch):
    """Exit code 0, 1 or 2, a sentence with 2, no traceback, no noise, no wait: whatever is typed or read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a file")
    seed = int(os.environ.get("KEYHOLE_FUZZ_SEED", time.time_ns() if CASES else 2024))
    rng, failures = random.Random(seed), []  # noqa: S311  (no secret)
    until = time.monotonic() + (10**9 if CASES else 8)
    drawn = 0
    while drawn < (CASES or 60) and time.monotonic() < until:
        drawn += 1
        words = command(rng, seeds, tmp_path)
        wrong = complaint(words)
        if wrong:
            failures.append(f"{shlex.join(words)}\n    {wrong}")
    if failures and CASES:
        Path(os.environ.get("KEYHOLE_FUZZ_OUT", "fuzz-failures.txt")).write_text("\n".join(failures))
    assert not failures, f"seed {seed}, {len(failures)} of {drawn}:\n" + "\n".join(failures[:5])
    assert drawn >= 10
