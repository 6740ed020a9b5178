"""`compile_circuit` and its command: one answer for layers and for steps, files that check, refusals in a sentence."""

import json

import pytest
from typer.testing import CliRunner

import keyhole
from keyhole.api.proof_file import check_certificate
from keyhole.cli.app import app
from keyhole.errors import ArgumentError, FormulaError, OutputError

from helpers.typechecking import switched_off

LINES = "a = x3 & x17; b = maj(x1, x2, a); a ^ b"


@pytest.mark.parametrize("mode", ["layers", "steps"])
def test_the_answer(mode, tmp_path):
    """What was proved, of which function, in how many layers; saved and checked."""
    made = keyhole.compile_circuit(LINES, 64, mode)
    assert (made.gates, made.depth, made.fan_in) == (3, 3, 3)
    assert made.function == str(keyhole.describe("x3 & x17 ^ maj(x1, x2, x3 & x17)").formula)
    assert len(made.layers) == (3 if mode == "layers" else 1)
    assert made.flat is not None
    assert made.flat.units == 16
    assert str(made).startswith("PROVED right on all 2^64 inputs")
    assert max(map(len, str(made).splitlines())) <= 80
    assert json.loads(made.to_json())["proof"]["slack"] >= 0.25
    checked = keyhole.check(made.save(tmp_path / "c.safetensors"))
    assert checked.holds
    assert checked.function == LINES


def test_a_function_that_is_not_settled_is_said():
    """Majority of 99 bits through gates of three wires is right gate by gate; no table of it is made."""
    made = keyhole.compile_circuit("majority:99", 200, fan_in=3)
    assert (made.function, made.sensitivity, made.flat) == (None, None, None)
    assert "not settled" in str(made)


def test_few_steps_beside_one_layer():
    """Parity of 64 bits: 25 for each of 63 slots, where one layer has a path norm above 10^4."""
    made = keyhole.compile_circuit("parity:64", 4096, "steps", fan_in=2)
    assert made.layers[0].path_inf == 25
    assert made.flat is not None
    assert made.flat.path_inf > 1e4


def test_refusals():
    """A mode that is not there, a context that is too short, a fraction of a wire."""
    with switched_off():
        with pytest.raises(ArgumentError, match="use layers or steps"):
            keyhole.compile_circuit("x1", 8, "flat")  # type: ignore[arg-type]
        with pytest.raises(FormulaError, match="Use a context of at least 18"):
            keyhole.compile_circuit(LINES, 10)
        with pytest.raises(ArgumentError, match="give a whole number"):
            keyhole.compile_circuit(LINES, 64, fan_in=2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("x1 & x2", "--layers", "--steps"), "--steps does not go with --layers"),
        (("x1 & x2", "--steps", "--leak", "0.1"), "--leak does not go with --steps"),
        (("x1 & x2", "--fan-in", "2"), "--fan-in is for circuits"),
        (("a = x1 & x2; a ^ x3",), "add --layers or --steps"),
        (("a = b; b = a; a", "--layers"), "has no cycle"),
        (("x1 & x20", "--layers"), "Use a context of at least 21"),
        (("x1 & x2", "--layers", "--fan-in", "1"), "a gate joins 2 to 12 wires"),
    ],
)
def test_the_command_refuses(words, sentence):
    """One sentence and exit code 2."""
    answer = CliRunner().invoke(app, ["compile", *words, "--context", "16"])
    assert answer.exit_code == 2
    assert sentence in " ".join(answer.stderr.split())


def test_the_command_writes_a_file_that_checks(tmp_path):
    """Steps of a chain, its file, and the check of the file."""
    file = str(tmp_path / "chain.safetensors")
    words = ["compile", "chain:parity:8", "--context", "100", "--steps", "--fan-in", "2", "--out", file]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "as claimed" in CliRunner().invoke(app, ["check", file]).stdout


def test_steps_are_proved_by_the_checker_of_certificates(tmp_path):
    """The prover's certificate of every slot is checked by the program that knows no compiler, at each word length."""
    made = keyhole.compile_circuit(LINES, 100, "steps")
    checked = check_certificate(made.save(tmp_path / "chain.cert"))
    assert [(part.verdict, part.tokens) for part in checked.parts] == [("PROVED", 100 + gate) for gate in range(3)]
    assert all(part.margin > 0.999 for part in checked.parts)
    with pytest.raises(OutputError, match="add --steps"):
        keyhole.compile_circuit(LINES, 100).save(tmp_path / "layers.cert")
