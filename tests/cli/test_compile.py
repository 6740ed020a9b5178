"""`keyhole compile` and `keyhole check` answer in tables and JSON, with the documented exit codes."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.compiler.precision.rounding import FORMATS

KEYS = [  # the golden keys of compile/1: fields are only ever added
    "keyhole", "schema", "function", "context", "construction", "exact", "margin", "error", "leak", "logit_scale",
    "logit_floor", "width", "heads", "dimension", "norms", "theorem", "formats", "rounding", "summation",
    "inputs_covered", "method", "output", "positions", "parameters", "codes_seed", "why",
    "rounding_assumes",
]  # fmt: skip
NORMS = [
    "score_frobenius", "score_21", "score_transposed_21", "value_spectral", "value_21", "value_frobenius", "readout",
    "path", "path_inf",
]  # fmt: skip
CHECK_KEYS = ["keyhole", "schema", "file", "holds", "function", "context", "construction", "inspections", "failures"]


def run(*arguments: str):
    """The command run in this process."""
    return CliRunner().invoke(app, list(arguments))


def test_json_alone_on_stdout():
    """--json prints one object with the promised keys and nothing else."""
    answer = run("compile", "x3 & x17 & x40", "--context", "1e6", "--json")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert list(facts) == KEYS
    assert list(facts["norms"]) == NORMS
    assert list(facts["formats"]) == list(FORMATS)
    assert set(facts["formats"].values()) <= {"proved", "refuted", "tried"}
    assert (facts["schema"], facts["inputs_covered"], facts["exact"]) == ("compile/1", "2^1000000", True)


@pytest.mark.parametrize("formula", ["x3 & ~x17", "parity:30", "random:6", "majority:101"])
@pytest.mark.parametrize("construction", ["auto", "pair"])
def test_tables_fit_80_columns(formula, construction):
    """Piped output has no colour codes, no line over 80 columns, no trailing blanks."""
    answer = run("compile", formula, "--context", "200", "--construction", construction)
    assert answer.exit_code == 0
    assert "\x1b" not in answer.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in answer.stdout.splitlines())
    assert "2^200" in answer.stdout.splitlines()[0]
    assert len(answer.stdout.splitlines()) <= 10


@pytest.mark.parametrize("construction", ["auto", "pair", "additive", "codes", "heads"])
def test_written_models_check(construction, tmp_path):
    """What --out writes, check accepts with exit code 0, in words and in JSON."""
    file = str(tmp_path / "new" / "and.safetensors")
    assert run("compile", "x3 & x17", "--context", "64", "--construction", construction, "--out", file).exit_code == 0
    answer = run("check", file)
    assert answer.exit_code == 0
    assert "as claimed" in answer.stdout
    assert all(len(line) <= 80 or file in line for line in answer.stdout.splitlines())
    facts = json.loads(run("check", file, "--json").stdout)
    assert list(facts) == CHECK_KEYS
    assert (facts["schema"], facts["holds"], facts["failures"]) == ("check/1", True, [])


def test_damage_is_a_no(tmp_path):
    """A file cut short or edited: exit code 1 and the reason; no model: exit code 2 and a sentence."""
    file = tmp_path / "and.safetensors"
    run("compile", "x3 & x17", "--context", "64", "--out", str(file))
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    answer = run("check", str(file))
    assert (answer.exit_code, answer.stderr) == (1, "")
    assert "cut off" in answer.stdout
    file.write_bytes(whole[:-5] + bytes(5))
    answer = run("check", str(file), "--json")
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["failures"]
    file.write_bytes(b"not a model")
    answer = run("check", str(file))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.startswith("keyhole: ")
    assert run("check", str(tmp_path / "none")).exit_code == 2


BAD = {
    "a short context": (["x3 & x17", "--context", "10"], "ends at position 9"),
    "a large table": (["random:13", "--context", "100"], "at most 12 positions"),
    "a constant": (["x1 | ~x1", "--context", "10"], "constant"),
    "a construction": (["x1", "--context", "10", "--construction", "best"], "construction 'best'"),
    "an output": (["x1", "--context", "10", "--output", "words"], "output 'words'"),
    "a mass": (["x1", "--context", "10", "--leak", "2"], "0 < leak < 1"),
    "a charge": (["x1", "--context", "10", "--minimise", "all"], "charge 'all'"),
    "an ending": (["x1", "--context", "10", "--out", "a.pickle"], "must end in .json"),
    "a formula": (["x1 &", "--context", "10"], "keyhole: "),
}


@pytest.mark.parametrize(("arguments", "complaint"), BAD.values(), ids=BAD)
def test_refusals_are_sentences(arguments, complaint):
    """One sentence on stderr and exit code 2."""
    answer = run("compile", *arguments)
    assert answer.exit_code == 2
    assert complaint in answer.stderr
    assert answer.stderr.startswith("keyhole: ")


def test_the_record_as_a_file(tmp_path):
    """--out FILE.json writes what --json prints."""
    file = tmp_path / "a.json"
    assert run("compile", "x1", "--context", "5", "--out", str(file)).exit_code == 0
    assert json.loads(file.read_text())["schema"] == "compile/1"


@pytest.mark.parametrize("command", ["compile", "check"])
def test_help_has_examples(command):
    """--help shows what to type."""
    answer = run(command, "--help")
    assert answer.exit_code == 0
    assert f"keyhole {command}" in answer.stdout
    assert "Examples" in answer.stdout


@pytest.mark.slow
def test_a_torch_file(tmp_path):
    """--out FILE.py writes a module that names its function."""
    answer = run("compile", "x1 ^ x3", "--context", "6", "--out", str(tmp_path / "m.py"))
    assert answer.exit_code == 0, answer.output
    assert "x1 ^ x3" in (tmp_path / "m.py").read_text("utf8")


@pytest.mark.slow
def test_a_suite_with_its_key_passes_the_check(tmp_path):
    """`score suite` writes the models and the answers; each model passes `keyhole check`."""
    answer = run("score", "suite", "4", "--context", "16", "--out", str(tmp_path))
    assert answer.exit_code == 0, answer.output
    models = json.loads((tmp_path / "key.json").read_text("utf8"))["models"]
    assert len(models) == 4
    for model in models:
        assert run("check", str(tmp_path / model["file"])).exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("compile", "x1"), "--context"),
        (("compile", "--context", "8"), "FORMULA"),
        (("score", "suite", "3", "--context", "16"), "--out"),
        (("score", "suite", "0", "--context", "16", "--out", "suite"), "at least one model"),
    ],
)
def test_what_is_missing_is_named(words, sentence):
    """One sentence each, exit code 2."""
    answer = run(*words)
    assert answer.exit_code == 2
    assert sentence in answer.stderr
