"""The command line answers in sentences, tables and JSON, and never with a traceback."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from keyhole import __version__
from keyhole.cli.app import app

EXAMPLE = "x3 & ~x17 | maj(x1,x2,x5)"
KEYS = [  # the golden keys of describe/1: fields are only ever added
    "keyhole", "schema", "formula", "positions", "sparsity", "rule", "levels", "literals", "table", "degree",
    "fourier_weight", "influences", "sensitivity", "largest_sensitivity", "leap", "symmetric",
    "symmetric_up_to_negation", "monotone", "threshold", "probability", "trivial_error", "representation", "training",
    "context", "sensitivity_per_position", "information_floor", "lists",
]  # fmt: skip


def run(*arguments: str):
    """The command run in this process."""
    return CliRunner().invoke(app, list(arguments))


def test_json_alone_on_stdout():
    """--json prints one object with the promised keys and nothing else."""
    answer = run("describe", EXAMPLE, "--json")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert list(facts) == KEYS
    assert facts["positions"] == [1, 2, 3, 5, 17]
    assert facts["schema"] == "describe/1"
    assert facts["keyhole"] == __version__


@pytest.mark.parametrize("formula", [EXAMPLE, "parity:64", "1", "random:9", "and:2000"])
@pytest.mark.parametrize("context", [[], ["--context", "1e9"]])
def test_tables_fit_80_columns(formula, context):
    """Piped output has no colour codes, no line over 80 columns, no trailing blanks."""
    answer = run("describe", formula, *context)
    assert answer.exit_code == 0
    assert "\x1b" not in answer.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in answer.stdout.splitlines())
    assert ("T = " in answer.stdout) == bool(context)


BAD = {
    "empty": ("", "formula is empty"),
    "blank": ("  ", "formula is empty"),
    "unclosed": ("(x1 & x2", "bracket is never closed"),
    "unopened": ("x1 & x2)", "bracket was never opened"),
    "negative position": ("x-1", "x must be followed by its position"),
    "short table": ("table(011; x1, x2)", "3 values are listed, but 2 arguments need 4"),
    "deep": ("(" * 10**5 + "x1" + ")" * 10**5, "nested 200 deep"),
    "non-ASCII digits": ("x٣", "x must be followed by its position in digits"),
    "no arguments": ("maj()", "maj needs at least one argument"),
    "no family": ("nand:3", "'nand' is not a family"),
    "family without size": ("and:", "does not name a family member"),
    "family of none": ("and:0", "a family has 1 to"),
    "too large a table": ("random:25", "a table holds at most 24"),
    "too many positions": (" | ".join(f"x{2 * i} & x{2 * i + 1}" for i in range(13)), "joins 26 positions"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "complaint"), BAD.values(), ids=BAD)
def test_bad_formulas_get_a_sentence(formula, complaint):
    """One sentence on stderr, exit code 2, nothing on stdout."""
    answer = run("describe", formula)
    assert answer.exit_code == 2
    assert complaint in answer.stderr
    assert answer.stderr.startswith("keyhole: ")
    assert not answer.stdout
    assert len(answer.stderr.splitlines()) in (1, 3)  # a sentence, or a sentence, the text and a caret


@pytest.mark.parametrize("context", ["0", "17", "-1", "many", "1.5", "1e99999", "٣"])
def test_bad_contexts_get_a_sentence(context):
    """A context that is no number, or does not reach position 17, is refused with exit code 2."""
    answer = run("describe", EXAMPLE, f"--context={context}")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("keyhole: ")
    assert not answer.stdout


@given(st.text(max_size=40) | st.text("x0123456789&|^~(),; majptblen", max_size=40))
def test_no_text_breaks_the_command(text):
    """Any formula is answered with exit code 0, or refused with exit code 2 and a sentence."""
    answer = run("describe", "--", text)
    assert answer.exit_code in (0, 2), answer.exception
    assert (answer.exit_code == 2) == answer.stderr.startswith("keyhole: ")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["json", "svg", "png", "html", "csv"])
def test_out_writes_a_file_and_says_so(tmp_path, ending):
    """--out writes what its ending asks for, and says where."""
    path = tmp_path / f"out.{ending}"
    answer = run("describe", "maj(x1,x2,x3)", "--out", str(path))
    assert answer.exit_code == 0
    assert path.stat().st_size > 0
    assert f"wrote {path}" in answer.stderr
    if ending == "json":
        assert json.loads(path.read_text()) == json.loads(run("describe", "maj(x1,x2,x3)", "--json").stdout)


@pytest.mark.parametrize("name", ["folder", "picture.docx"])
def test_out_refuses_what_it_cannot_write(tmp_path, name):
    """A folder or an unknown ending is refused with exit code 2."""
    (tmp_path / "folder").mkdir()
    answer = run("describe", "x1", "--out", str(tmp_path / name))
    assert answer.exit_code == 2
    assert "keyhole: " in answer.stderr


def test_ctrl_c_exits_with_130(monkeypatch):
    """An interrupted command says so and exits with 130."""

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("keyhole.api.describe.describe", interrupted)
    answer = run("describe", "x1")
    assert answer.exit_code == 130
    assert "interrupted" in answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [["--version"], ["describe", "x1", "--json"]])
def test_runs_as_a_module(command):
    """`python -m keyhole` is the command, in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-m", "keyhole", *command], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout
    assert not done.stderr


@pytest.mark.slow
def test_bad_input_in_a_fresh_interpreter():
    """The exit code is the process's own, and no traceback is shown."""
    done = subprocess.run(
        [sys.executable, "-m", "keyhole", "describe", "x1 &"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "      ^"


def test_a_compiled_file_is_described_with_its_heads(tmp_path):
    """A file is described with its heads as lists; a formula beside it, or lists of a formula, are refused."""
    path = tmp_path / "and.safetensors"
    run("compile", "x3 & ~x17", "--context", "32", "--construction", "veto", "--out", str(path))
    answer = run("describe", "--file", str(path), "--lists", "2")
    assert answer.exit_code == 0
    assert "look at x3: if it is 0, output -1" in answer.stdout
    for words in (["x3", "--lists", "2"], ["x3", "--file", str(path)], ["--file", str(path), "--context", "32"]):
        refused = run("describe", *words)
        assert refused.exit_code == 2
        assert "--file" in refused.stderr
    assert run("describe").exit_code == 2
