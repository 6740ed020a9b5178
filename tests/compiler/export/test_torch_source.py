"""The written module needs torch alone, and reads what the tables read."""

import json
import subprocess
import sys

import numpy as np
import pytest

from keyhole.attention.evaluation import evaluate
from keyhole.boolean.families import read_function
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.additive import additive_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import head_per_position_plan
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.export.torch_source import torch_source
from keyhole.compiler.proof import prove

from helpers.compiled_plans import CONTEXT, all_inputs, all_plans, targets

AND = read_function("x3 & x117 & ~x400")
LONG = 512
INPUTS = 10_000

# A stranger's program: keyhole cannot be imported, whatever is installed.
STRANGER = """
import importlib.util, json, sys
sys.modules["keyhole"] = None
import numpy, torch
spec = importlib.util.spec_from_file_location("compiled", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
model = module.Compiled()
bits = torch.from_numpy(numpy.load(sys.argv[2], allow_pickle=False))
with torch.no_grad():
    read = torch.cat([model(part) for part in bits.split(1000)])
    attention = model.attention(bits[:2])
numpy.save(sys.argv[3], read.numpy())
numpy.save(sys.argv[4], attention.numpy())
print(json.dumps({"dtype": str(read.dtype), "keyhole": any(name.startswith("keyhole.") for name in sys.modules)}))
"""


def run_by_a_stranger(plan, bits, folder):
    """The module's outputs and attention, from a process without keyhole."""
    (folder / "model.py").write_text(torch_source(plan, prove(plan)), "utf8")
    np.save(folder / "bits.npy", bits)
    files = [str(folder / name) for name in ("model.py", "bits.npy", "read.npy", "attention.npy")]
    run = subprocess.run([sys.executable, "-I", "-c", STRANGER, *files], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == {"dtype": "torch.float64", "keyhole": False}
    return np.load(folder / "read.npy"), np.load(folder / "attention.npy")


def module_of(plan):
    """The written module, in this process."""
    scope = {}
    exec(compile(torch_source(plan, prove(plan)), "model.py", "exec"), scope)  # noqa: S102  (our own text)
    return scope["Compiled"]()


@pytest.mark.extra("torch")
@pytest.mark.parametrize(
    "plan",
    [
        pair_plans(AND, LONG, 0.5, "signs")[0],
        additive_plan(AND, LONG, 0.5, "signs"),
        head_per_position_plan(AND, LONG, 0.5, "signs"),
    ],
    ids=lambda plan: plan.construction,
)
def test_agrees_without_keyhole(plan, tmp_path):
    """At T = 512, 10⁴ random inputs in batches: to 1e-9 and in sign with the tables, which the proof is about."""
    bits = np.random.default_rng(0).integers(0, 2, (INPUTS, LONG))
    bits[:3000, [3, 117]], bits[:3000, 400] = 1, 0  # or the true case would hardly occur
    read, attention = run_by_a_stranger(plan, bits, tmp_path)
    tables = evaluate(to_tabulated(plan), bits)
    assert read.shape == (INPUTS,)
    assert np.abs(read - tables).max() < 1e-9
    assert np.array_equal(np.sign(read), np.sign(tables))
    assert attention.shape == (2, len(plan.heads), LONG + 1)
    assert attention.sum(axis=2) == pytest.approx(1.0, abs=1e-12)
    relevant = attention[:, :, list(plan.function.positions)].max(axis=1)
    weights = [1, 2, 4] if plan.construction == "B2" else [1, 1, 1]  # ω of the positions
    assert relevant == pytest.approx(np.tile(np.array(weights) * plan.parameters["attention"], (2, 1)), rel=1e-12)


@pytest.mark.extra("torch")
def test_every_construction_on_every_input():
    """All 2^T inputs at small T, random codes and distractors too."""
    import torch

    bits = all_inputs(CONTEXT)
    plans = all_plans("x1 & ~x4 | x2")
    plans.append(add_distractor(plans[0], Distractor((0, 5), 0.2)))
    for plan in plans:
        read = module_of(plan)(torch.from_numpy(bits)).detach().numpy()
        assert np.abs(read - targets(plan, bits)).max() < 1e-9


@pytest.mark.extra("torch")
@pytest.mark.parametrize(("bits", "says"), [("zeros(2, 5)", "shape"), ("full((2, 6), 2)", "0 or 1")])
def test_the_module_refuses_what_are_no_bits(bits, says):
    """A wrong length or symbol is refused by name."""
    import torch

    model = module_of(all_plans("x1 ^ x5")[0])
    with pytest.raises(ValueError, match=says):
        model(torch.zeros(2, 5) if "zeros" in bits else torch.full((2, 6), 2))


def test_says_what_it_is():
    """The header names function, construction, margin, proof; the text is Python without a pickle in it."""
    plan = all_plans("x1 & ~x4")[0]
    proof = prove(plan)
    text = torch_source(plan, proof)
    compile(text, "model.py", "exec")
    header = text.split('"""')[1]
    for fact in ("x1 & ~x4", "A2", repr(proof.margin), proof.method, "2^6 inputs"):
        assert fact in header
    assert "pickle" not in text
    assert "import keyhole" not in text


def test_one_file_is_small():
    """At T = 512 the weights take less than 100 kB of text."""
    plan = additive_plan(AND, LONG, 0.5, "signs")
    assert len(torch_source(plan, prove(plan))) < 100_000
