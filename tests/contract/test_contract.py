"""What every later version must answer as this one did: JSON, identities, plans, files and exit codes.

Golden data is read from `golden/`, and what older versions wrote from `fixtures/`; `commands.py` lists what is typed.
With KEYHOLE_WRITE_CONTRACT=1 a golden file that is absent is written; none is ever overwritten: delete it first.
"""

import contextlib
import csv
import hashlib
import io
import json
import math
import os
import re
import runpy
import shlex
import shutil
import struct
import sys
from pathlib import Path

import pytest

from contract.commands import (
    CASES,
    CHANGED,
    COMPILED,
    EXPORTED,
    README,
    REFUSED,
    RENAMED_SCHEMAS,
    ROUNDING,
    STORED,
    TRAINED_RUN,
)

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "data"
WRITE = os.environ.get("KEYHOLE_WRITE_CONTRACT") == "1"

RELATIVE = 1e-9
NOISE = 1e-16
LARGEST_ROUNDING = 1e-9  # of the numbers in ROUNDING
LONGEST = 24  # numbers at one path that are written out; of more, the count, the first and the sums
UNSTABLE = re.compile(
    r"(^|[._])(seconds|time|times|elapsed|created|version|versions|keyhole|memory|store|digest|packages)$"
)


def typed(line):
    """Type one line as `python -m keyhole` in this process: the exit code, what is printed, and what is complained."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["keyhole", *shlex.split(line.replace("{data}", str(DATA)))]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_module("keyhole", run_name="__main__")
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    """A copy of the fixtures as current folder."""
    shutil.copytree(HERE / "fixtures", tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("KEYHOLE_HOME", raising=False)
    return tmp_path / "here"


def leaves(record, path=""):
    """Every value of a record with its path; elements of a list share one."""
    if isinstance(record, dict):
        yield path, "object", None
        for key, value in record.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(record, list):
        yield path, "list", None
        for value in record:
            yield from leaves(value, f"{path}[]")
    elif isinstance(record, bool) or record is None:
        yield path, "null" if record is None else "bool", record
    elif isinstance(record, str):
        yield path, "text", record if re.fullmatch(r"[^\s/]{1,80}", record) else None
    else:
        yield path, "number", record


def summary(record, *, trained=False):
    """The keys of a record with their types, and its numbers, answers and single words by path."""
    keys, values = {}, {}
    for path, kind, value in leaves(record):
        keys.setdefault(path, set()).add(kind)
        if value is None or UNSTABLE.search(path) or path == "schema" or (trained and isinstance(value, float)):
            continue
        values.setdefault(path, []).append(float(f"{value:.12g}") if isinstance(value, float) else value)
    return {
        "keys": {path: " ".join(sorted(kinds)) for path, kinds in keys.items() if path},
        "values": {path: _shortened(listed) for path, listed in values.items()},
    }


def _shortened(listed):
    if len(listed) <= LONGEST:
        return listed
    numbers = [value for value in listed if isinstance(value, (int, float))]
    return [len(listed), *listed[:LONGEST], math.fsum(numbers), math.fsum(map(abs, numbers))]


def same(one, other):
    """Two values are the same; floats to nine digits."""
    if isinstance(one, str) or isinstance(other, str) or isinstance(one, bool) or isinstance(other, bool):
        return type(one) is type(other) and one == other
    return one == other or math.isclose(one, other, rel_tol=RELATIVE, abs_tol=NOISE)


def same_rounding(one, other):
    """Both are rounding errors of the same size."""
    low, high = sorted((one, other))
    return low >= 0 and high <= min(2 * low, LARGEST_ROUNDING)


def differences(golden, now, listed=(), rounding=()):
    """What is missing or changed; added keys are allowed."""
    for path, kinds in golden["keys"].items():
        if path not in listed and now["keys"].get(path) != kinds:
            yield f"{path}: {kinds} before, {now['keys'].get(path, 'missing')} now"
    for path, values in golden["values"].items():
        here = now["values"].get(path, [])
        alike = same_rounding if path in rounding else same
        if path not in listed and not (len(values) == len(here) and all(map(alike, values, here))):
            yield f"{path}: {values} before, {here} now"


def require_golden(name, now):
    """The golden file has nothing that is missing or changed now."""
    path = HERE / "golden" / f"{name}.json"
    if WRITE and not path.exists():
        text = json.dumps(now, indent=1, ensure_ascii=False)
        text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
        path.write_text(text + "\n", "utf8")
    golden = json.loads(path.read_text("utf8"))
    schema = golden.get("schema")
    assert now.get("schema") == RENAMED_SCHEMAS.get(schema, schema)
    assert now.get("exit") == golden.get("exit")
    listed, rounding = CHANGED.get(name, {}), ROUNDING.get(name, {})
    assert list(differences(golden, json.loads(json.dumps(now)), listed, rounding)) == []


def answer_of(case):
    """The record that a case's last line prints."""
    *before, last = case.lines
    for line in before:
        code, _, complaint = typed(line)
        assert code == 0, complaint
    code, printed, complaint = typed(last)
    assert code == case.exit_code, complaint
    return json.loads(printed)


def marked(cases):
    """The cases as parameters of a test, with their names and marks."""
    for name, case in cases.items():
        yield pytest.param(name, case, id=name, marks=[getattr(pytest.mark, case.mark)] if case.mark else [])


@pytest.mark.parametrize(("name", "case"), list(marked(CASES)))
def test_a_command_answers_as_before(name, case):
    """Every key has its type, every number, verdict and identity its value."""
    record = answer_of(case)
    require_golden(
        name, {"schema": record.get("schema"), "exit": case.exit_code, **summary(record, trained=case.trained)}
    )


@pytest.mark.parametrize("name", STORED)
def test_a_stored_run_is_found_again(name):
    """A run has the identity that it had: the sweep that made it makes nothing, and its answer is the same."""
    record = answer_of(type(CASES["describe"])((STORED[name],)))
    assert (record["runs"], record["made"]) == (1, 0)
    require_golden(f"stored-{name.replace(':', '-')}", {"schema": record["schema"], "exit": 0, **summary(record)})


def test_the_trained_run_is_found_again():
    """The run whose weights are certified has its identity, too."""
    record = answer_of(type(CASES["describe"])((TRAINED_RUN,)))
    assert (record["runs"], record["made"]) == (1, 0)


def test_exported_runs_have_their_columns():
    """The table of runs has every column and value that it had."""
    code, _, complaint = typed(EXPORTED)
    assert code == 0, complaint
    with Path("runs.csv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file))
    require_golden("runs-export", summary(rows))


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_files_are_written_as_before(name):
    """The arrays are equal to the bit, and the description says of them what it said."""
    code, _, complaint = typed(COMPILED[name])
    assert code == 0, complaint
    described, arrays = _opened(Path("new.safetensors"))
    was, before = _opened(HERE / "fixtures" / f"{name}.safetensors")
    assert arrays == before
    assert list(differences(summary(was), summary(described), CHANGED.get(f"file-{name}", {}))) == []


def _opened(path):
    """The description of a compiled file, and the digest of each of its arrays."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    described = json.loads(header.pop("__metadata__")["description"])
    arrays = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        content = hashlib.sha256(raw[8 + size + start : 8 + size + end]).hexdigest()
        arrays[name] = (entry["dtype"], entry["shape"], content)
    return described, arrays


def test_the_stated_numerics_are_as_before():
    """A plan that is written now is the one that was written then, letter by letter."""
    code, _, complaint = typed(
        "learn and:3 --context 6,8 --samples 8,16 --seeds 2 --learner elimination --workers 0 --out new.toml"
    )
    assert code == 0, complaint
    assert Path("new.toml").read_text("utf8") == Path("plan.toml").read_text("utf8")


def test_registered_data_are_untouched():
    """Plans and rows of the registered experiments are those that were registered."""
    files = sorted(path for folder in DATA.glob("registered*") for path in folder.iterdir() if path.suffix != ".md")
    digests = {str(path.relative_to(DATA)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    require_golden("registered-files", summary({"files": digests}))


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(line):
    """Bad input ends with exit code 2 and a sentence, with the place at most; nothing on stdout."""
    code, printed, complaint = typed(line)
    assert (code, printed) == (2, "")
    assert 1 <= len(complaint.strip().splitlines()) <= 3
    assert "Traceback" not in complaint


NUMBER = re.compile(r"(?<![\w.^])-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def printed_numbers(name):
    """The numbers of three digits and more in the README's block of this command."""
    command = README[name].lines[-1].split()[0]
    blocks = re.findall(r"```(?:text)?\n(\$ .*?)\n```", (DATA.parent / "README.md").read_text("utf8"), re.DOTALL)
    block = next(
        block
        for block in blocks
        if re.search(rf"keyhole {command}\b", "\n".join(re.findall(r"^\$.*$", block, re.MULTILINE)[-1:]))
    )
    body = "\n".join(line for line in block.splitlines() if not line.startswith("$"))
    found = (number.rstrip(".,").replace(",", "") for number in NUMBER.findall(body))
    return sorted({number for number in found if len(number.split("e")[0].replace(".", "").strip("-0")) >= 3})


def stands_in(number, values):
    """A number as printed is one of the values, rounded to as many digits; or a percentage of one."""
    digits = len(number.split("e")[0].partition(".")[2])
    width = 10 ** ((int(number.split("e")[1]) if "e" in number else 0) - digits)
    return any(abs(float(number) - factor * value) <= 1.01 * width for value in values for factor in (1, 100))


@pytest.mark.parametrize(("name", "case"), list(marked(README)))
def test_the_readmes_numbers_come_out(name, case):
    """What the README printed when this was written is still what the command answers, to the digits printed."""
    record = answer_of(case)
    values = [
        value
        for _, kind, value in leaves(record)
        if kind == "number" and isinstance(value, (int, float)) and math.isfinite(value) and abs(value) < 1e300
    ]
    path = HERE / "golden" / "readme.json"
    golden = json.loads(path.read_text("utf8")) if path.exists() else {}
    if WRITE and name not in golden:
        golden[name] = " ".join(number for number in printed_numbers(name) if stands_in(number, values))
        path.write_text(json.dumps(golden, indent=1) + "\n", "utf8")
    changed = CHANGED.get(name, {})
    absent = [number for number in golden[name].split() if not stands_in(number, values) and number not in changed]
    assert absent == []
    assert golden[name]
