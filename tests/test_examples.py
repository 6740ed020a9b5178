"""The examples run, and show what they say."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from math import log
from pathlib import Path
from random import Random

import numpy as np
import pytest

import keyhole
from keyhole.bounds.construction_norms import hypothetical
from keyhole.figure import Figure

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_gated_head():
    """One more term for the gate: weight ‖v‖·radius/4, scale ‖u‖B_Z, log(2m+1)."""
    example = runpy.run_path(str(EXAMPLES / "gated_head.py"))
    profile = hypothetical(tokens=101, value21=2.0, value=1.0, score=5.0, width=4, readout=3.0)
    terms = {term.name: term for term in example["gated_cover"](profile, 2.0, 100.0).terms}
    assert set(terms) == {"scores", "values", "gate", "read-out"}
    assert terms["gate"][2:5] == pytest.approx((3.0 / 4, 2.0, log(201)))
    assert "not refuted in 4000 tries" in example["report"]()


def test_the_hunt_refutes_a_wrong_gate():
    """With the slope of the sigmoid taken 10 % too small, the hunt finds a counterexample."""
    example = runpy.run_path(str(EXAMPLES / "gated_head.py"))
    assert example["hunt"](Random(1), steepest=0.225).refuted  # noqa: S311
    assert not example["hunt"](Random(1)).refuted  # noqa: S311


def test_own_growth_law():
    """Thresholds that level off at 80 are named by the saturating law, with a ≈ 80 and b ≈ 60; every law takes part."""
    run = subprocess.run([sys.executable, EXAMPLES / "own_growth_law.py"], capture_output=True, text=True, check=True)
    *laws, verdict = run.stdout.splitlines()
    assert len(laws) == 8
    assert verdict.startswith("named: a − b e^(−T/300); ")
    a, b = (float(number) for number in re.findall(r"[ab] = (\S+)", laws[0]))
    # known to ±10 % each: three points on the plateau and two at the foot fix a and b within 6 %
    assert (a, b) == (pytest.approx(80, rel=0.06), pytest.approx(60, rel=0.06))
    assert any(" a (1 + ln T)^p with a = " in law for law in laws)


def test_attribution():
    """Flipping bits finds every relevant position (AUC 1 over all inputs); distractors mislead attention."""
    run = subprocess.run([sys.executable, str(EXAMPLES / "attribution.py")], capture_output=True, text=True, check=True)
    found = [tuple(map(float, re.findall(r"AUC (\d\.\d\d)", line))) for line in run.stdout.splitlines()]
    assert len(found) == 14
    # a bit that no drawn input is sensitive to would be missed; with s ≤ 5 each is seen in 2^-4 of 200 inputs or more
    assert all(occlusion == 1.0 for occlusion, _ in found)
    assert min(attention for _, attention in found) < 1.0


def test_own_latent_model():
    """Gamma–Poisson, which the library does not know: a table for each attention, and the sink is exact."""
    words = [sys.executable, str(EXAMPLES / "own_latent_model.py")]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split() for line in run.stdout.splitlines() if re.match(r"(softmax|sink) +\d", line)]
    assert [name for name, *_ in rows] == 4 * ["softmax"] + 4 * ["sink"]
    assert all((gap == "0") == (name == "sink") for name, _, gap, *_ in rows)


@pytest.mark.parametrize(
    ("member", "wrong", "sentence"),
    [
        ("posterior_mean", lambda _self, tokens: tokens.mean(axis=1), "the sink is not the posterior mean"),
        ("posterior_mean", lambda self, tokens: 1 + (self.a + tokens.sum(axis=1)) / 9, "is not the posterior mean"),
        ("sample", lambda self, n, length, rng: self.drawn(n, length, rng), "more than four standard errors"),
    ],
)
def test_a_wrong_latent_model_is_found_out(member, wrong, sentence):
    """A posterior that forgets its prior, one that is off by one, and counts of another law fail the check."""
    example = runpy.run_path(str(EXAMPLES / "own_latent_model.py"))

    class Wrong(example["GammaPoisson"]):
        def drawn(self, n, length, rng):
            """Draw twice the counts."""
            right = example["GammaPoisson"].sample(self, n, length, rng)
            return keyhole.latent.Draw(2 * right.tokens, right.latents)

    setattr(Wrong, member, wrong)
    with pytest.raises(AssertionError, match=sentence):
        example["check"](Wrong(), keyhole.infer(Wrong(), [8, 16, 32, 64]))


def test_the_own_latent_model_moved_inside_is_found_by_name(tmp_path):
    """One file more in the library's folder of models, and no other change: the command line finds it by its name."""
    shutil.copytree(Path(keyhole.__file__).parent, tmp_path / "keyhole", ignore=shutil.ignore_patterns("__pycache__"))
    text = (EXAMPLES / "own_latent_model.py").read_text("utf8").split("def check")[0]
    for public, inside in {
        "import keyhole\n": "from keyhole.latent.models.registry import register_model\n",
        "from keyhole.latent import Draw, ModelWithoutKeys, Pooling\n": (
            "from keyhole.latent.inference.problem import Pooling\n"
            "from keyhole.latent.models.base import Draw\n"
            "from keyhole.latent.models.without_keys import ModelWithoutKeys\n"
        ),
    }.items():
        assert public in text
        text = text.replace(public, inside)
    inside = tmp_path / "keyhole" / "latent" / "models" / "gamma_poisson.py"
    inside.write_text(text + '\n\nregister_model("gamma", GammaPoisson)\n', "utf8")
    words = [sys.executable, "-m", "keyhole", "infer", "gamma", "--size", "8,16", "--repeats", "4"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path, env={"PYTHONPATH": "."})
    assert len(re.findall(r"^sink +\d+ +0 ", run.stdout, re.MULTILINE)) == 2


def test_own_learner():
    """A learner in a file of its own is swept beside elimination, by workers; by name its runs are found again."""
    run = subprocess.run([sys.executable, str(EXAMPLES / "own_learner.py")], capture_output=True, text=True, check=True)
    titles = re.findall(r"and:3 by (\w+)", run.stdout)
    counts = re.findall(r"120 runs \((\d+) new", run.stdout)
    assert list(zip(titles, counts, strict=True)) == [("winnow", "120"), ("winnow", "0"), ("elimination", "120")]


@pytest.mark.long
def test_own_claim():
    """A claim of a user's own is measured, judged by its prediction, and put on a page; a wrong bound fails it."""
    run = subprocess.run([sys.executable, str(EXAMPLES / "own_claim.py")], capture_output=True, text=True, check=True)
    assert "verdict: holds" in run.stdout
    assert "page: index.html" in run.stdout
    example = runpy.run_path(str(EXAMPLES / "own_claim.py"))
    measure = example["measure"]
    assert measure("quick", 1).verdict == "holds"
    measure.__globals__["softmax_move"] = lambda move: 1.1 * example["softmax_move"](move)
    assert measure("quick", 1).verdict == "fails here"


def test_own_construction():
    """A construction of one's own is proved on all inputs, its read-out is its theorem's (T + 1)√5, its file checks."""
    words = [sys.executable, str(EXAMPLES / "own_construction.py")]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "margin 0.999999 on all 2^64 inputs" in run.stdout
    assert f"read-out {65 * 5**0.5:.1f}, by theorem {65 * 5**0.5:.1f}" in run.stdout
    assert "check: as claimed" in run.stdout
    assert len((EXAMPLES / "own_construction.py").read_text("utf8").splitlines()) <= 60


def test_own_architecture():
    """Checkpoints of an architecture of one's own are read by a record of at most 60 lines, file and all."""
    words = [sys.executable, str(EXAMPLES / "own_architecture.py")]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    rng = np.random.default_rng(0)  # the numbers of the example, drawn again
    drawn = [rng.normal(size=shape) for shape in ((5, 8), (16, 8), (8,), (3, 8), (1,), *(2 * ((24, 8), (8, 8), (8,))))]
    query, key, _ = drawn[8].reshape(2, 3, 4, 8)[0]
    assert f"norm {np.linalg.norm(key.T @ query / 2, 2):.3f}" in run.stdout
    assert len((EXAMPLES / "own_architecture.py").read_text("utf8").splitlines()) <= 60


@pytest.mark.extra("torch")
def test_prove_pytorch():
    """A model trained in PyTorch (a smaller one) is proved to compute the hidden conjunction, and identified."""
    words = [sys.executable, str(EXAMPLES / "prove_pytorch.py"), "20", "200", "150", "0"]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    hidden = re.search(r"hidden: \[(\d+), (\d+), (\d+)\]", run.stdout)
    formula = " & ".join(f"x{place}" for place in hidden.groups())
    assert formula in run.stdout
    assert "PROVED equal to the model on all 2^20 inputs" in run.stdout


@pytest.mark.extra("transformer-lens")
def test_in_transformer_lens():
    """Both models give the function's signs, and the attention is half of what the leak leaves on each position."""
    words = [sys.executable, str(EXAMPLES / "in_transformer_lens.py")]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.findall(r"\[(.*)\]", run.stdout) == ["-1.0, -1.0, 1.0", "-1.0, -1.0, 1.0", "0.25, 0.25"]


@pytest.mark.extra("torch")
def test_a_wrong_word_is_wrong_in_transformers_too(tmp_path):
    """A model barely trained is refuted, and `transformers` gives the same wrong answer to the word."""
    pytest.importorskip("transformers")
    folder, zoo = tmp_path / "model", EXAMPLES / "zoo"
    make = ["majority", "--width", "8", "--longest", "9", "--steps", "30", "--out", str(folder)]
    subprocess.run([sys.executable, zoo / "train.py", *make], capture_output=True, check=True)
    ask = [str(folder), "--length", "9", "--samples", "1000"]
    run = subprocess.run([sys.executable, zoo / "show_wrong.py", *ask], capture_output=True, text=True, check=True)
    assert "keyhole: WRONG INPUT" in run.stdout
    assert run.stdout.rstrip().endswith("WRONG")


def test_cluster():
    """Runs made by an executor that is somebody else's, and a table of them with every setting."""
    run = subprocess.run([sys.executable, EXAMPLES / "cluster.py"], capture_output=True, text=True, check=True)
    assert "24 runs (24 new)" in run.stdout


def test_notebook(tmp_path, monkeypatch):
    """Every cell runs; every last line is an answer that shows itself as a table, or a figure that is drawn."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text("utf8"))["cells"]
    names, shown = {}, 0
    for cell in cells:
        if cell["cell_type"] == "code":
            *lines, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(lines, []), "cell", "exec"), names)  # noqa: S102  (our own cells)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
                shown += bool(value._repr_svg_() if isinstance(value, Figure) else getattr(value, "_repr_html_", str)())
            else:
                exec(compile(ast.Module([last], []), "cell", "exec"), names)  # noqa: S102
    assert shown == 8


@pytest.mark.extra("torch")
def test_suite_pytorch():
    """The modules run in torch alone, and flipping bits finds every relevant position."""
    run = subprocess.run([sys.executable, EXAMPLES / "suite_pytorch.py"], capture_output=True, text=True, check=True)
    average = next(line for line in run.stdout.splitlines() if line.startswith("average"))
    assert average.split() == ["average", "1.00", "1.00", "1.00", average.split()[-1]]


@pytest.mark.slow
def test_your_table(capsys):
    """The example says of each learner how many rows 92 % take, and irrelevant columns cost the ridge more."""
    runpy.run_path(str(EXAMPLES / "your_table.py"), run_name="__main__")
    said = capsys.readouterr().out
    ridge, lasso = (line for line in said.splitlines() if "irrelevant columns:" in line)
    cost = [float(line.split("irrelevant columns: ")[1].split()[0].replace("more", "inf")) for line in (ridge, lasso)]
    assert cost[0] > 2 * cost[1]
    assert "labels = 8: 1,797 rows of 64 columns" in said


def test_own_command(tmp_path):
    """A package with an entry point adds its command to the command line, and to its help."""
    shutil.copy(EXAMPLES / "own_command.py", tmp_path)
    (tmp_path / "own_command-1.dist-info").mkdir()
    (tmp_path / "own_command-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own-command\nVersion: 1\n"
    )
    (tmp_path / "own_command-1.dist-info" / "entry_points.txt").write_text(
        "[keyhole.commands]\ndepths = own_command:depths_command\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}

    def typed(*words):
        program = [sys.executable, "-m", "keyhole", *words]
        return subprocess.run(program, capture_output=True, text=True, check=True, env=environment).stdout

    assert "depths" in typed("--help")
    own = subprocess.run([sys.executable, EXAMPLES / "own_command.py"], capture_output=True, text=True, check=True)
    assert typed("depths", "x1 & x2", "x1 & (x2 | x3)", "x1 ^ x2") == own.stdout
