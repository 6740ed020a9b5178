"""`prove_steps` and `keyhole prove --architecture`: verdicts as text and JSON, and refusals in a sentence."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.api.prove_steps import prove_steps
from keyhole.checkpoints import read_step_model
from keyhole.cli.app import app
from keyhole.errors import ArgumentError, CheckpointError
from keyhole.languages import Prompt

from helpers.step_models import copying_model

HELPERS = Path(__file__).parent.parent
DESCRIPTION = """
import sys
sys.path.insert(0, {helpers!r})
from helpers.step_models import copying_model
from keyhole.languages import Prompt

def describe(tensors):
    return copying_model(3, 3, float(tensors["sharpness"][0])), Prompt()
"""


@pytest.fixture
def files(tmp_path):
    """A description and two files of weights: a sharp copying model and a leaking one."""
    description = tmp_path / "copying.py"
    description.write_text(DESCRIPTION.format(helpers=str(HELPERS)))
    for name, sharpness in (("sharp", 12.0), ("blunt", 0.5)):
        save_file({"sharpness": np.array([sharpness])}, tmp_path / f"{name}.safetensors")
    return tmp_path


def run(*words):
    """The command's exit code and output."""
    answer = CliRunner().invoke(app, [str(word) for word in words])
    return answer.exit_code, answer.output


def test_a_proof_in_words_and_in_json(files):
    """The command says PROVED with a margin, exit code 0; the JSON has the fields of the result."""
    asked = ("prove", files / "sharp.safetensors", "--architecture", files / "copying.py", "--claim", "copy:3:3")
    code, text = run(*asked)
    assert code == 0
    assert "PROVED right on all 27 words, margin" in text
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    code, text = run(*asked, "--json")
    record = json.loads(text[text.index("{") :])
    assert record["schema"] == "prove-steps/1"
    assert record["status"] == "PROVED"
    assert 0.99 * record["attained"] <= record["margin"] <= record["attained"]
    code, text = run(*asked, "-v")
    assert "open words" in text


def test_wrong_words_have_exit_code_one(files):
    """A leaking model is wrong: exit code 1 and the words."""
    code, text = run(
        "prove", files / "blunt.safetensors", "--architecture", files / "copying.py", "--claim", "copy:3:3"
    )
    assert code == 1
    assert "WRONG on" in text
    assert "right is" in text


def test_progress_has_every_step():
    """Each step is heard of once it is decided, with its verdict."""
    events = []
    proof = prove_steps(copying_model(2, 2), "copy:2:2", prompt=Prompt(), watch=events.append)
    verdicts = [event.detail for event in events if event.detail is not None]
    assert tuple(verdicts) == proof.steps
    assert events[-1].done == events[-1].of


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("x = 1", "does not describe"),
        ("def describe(tensors): return 3", "returned a int"),
        ("def describe(tensors): return tensors['none']", "KeyError"),
        ("def describe(", "SyntaxError"),
    ],
)
def test_descriptions_that_do_not_serve_are_refused(files, body, says):
    """A description without `describe`, or one that fails or returns something else, is refused in a sentence."""
    (files / "broken.py").write_text(body)
    with pytest.raises(CheckpointError, match=says):
        read_step_model(files / "sharp.safetensors", files / "broken.py")
    asked = ("prove", files / "sharp.safetensors", "--architecture", files / "broken.py", "--claim", "copy:3:3")
    assert run(*asked)[0] == 2


def test_refusals(files):
    """No description, no claim, a claim that is none, a file that is none: exit code 2 with a sentence."""
    with pytest.raises(ArgumentError, match="needs a description"):
        prove_steps(files / "sharp.safetensors", "copy:3:3")
    with pytest.raises(CheckpointError, match="not a Python file"):
        read_step_model(files / "sharp.safetensors", files / "none.py")
    sharp, copying = files / "sharp.safetensors", files / "copying.py"
    for words in (
        ("prove", sharp, "--architecture", copying),
        ("prove", sharp, "--architecture", copying, "--claim", "copy:3:3", "--lengths", "3"),
        ("prove", sharp, "--architecture", copying, "--claim", "nothing:3"),
        ("prove", sharp, "--architecture", copying, "--claim", "copy:4:3"),
        ("prove", files / "none.safetensors", "--architecture", copying, "--claim", "copy:3:3"),
    ):
        assert run(*words)[0] == 2, words


def test_nothing_is_left_in_sys_modules(files):
    """The description is run as a module of its own and not registered under its name."""
    read_step_model(files / "sharp.safetensors", files / "copying.py")
    assert "copying" not in sys.modules
