"""Nothing a model file says is taken on trust: any entry or array changed, digests made anew, is refused."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import keyhole
from keyhole.compiler import compiled as compiled_module
from keyhole.compiler import inspection
from keyhole.compiler.compiled import Compiled
from keyhole.compiler.constructions.registry import construction_of
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.export.model_file import save_model
from keyhole.compiler.proof import prove
from keyhole.files.model import FORMAT, read_model, write_model

SHOWN = {
    "prove": inspection,
    "judge_formats": compiled_module,
    "plan_profile": compiled_module,
}  # what shows, and where
OTHER = "proved optimal among all transformers, and secure"


def distracted():
    """A pair construction with two distractors."""
    plan = keyhole.compile("x1 & x3", 9).plan
    for distractor in (Distractor((0, 5), 0.2), Distractor((7,), 0.5)):
        plan = add_distractor(plan, distractor)
    return Compiled(plan, prove(plan), construction_of(plan.construction))


MADE = {
    "pair": lambda: keyhole.compile("x1 & ~x4", 9, output="bits", leak=0.3),
    "additive": lambda: keyhole.compile("maj(x0, x2, x5)", 9, construction="additive"),
    "codes": lambda: keyhole.compile("x0 & x2", 9, construction="codes", seed=5),
    "heads": lambda: keyhole.compile("x0 ^ x5", 9, construction="heads", leak=0.7),
    "distracted": distracted,
    "without dense matrices": lambda: keyhole.compile("x1 & x4 & x6", 3000),
}


@pytest.fixture(scope="module", params=MADE)
def stored(request, tmp_path_factory):
    """A file of every construction, as read."""
    return read_model(save_model(MADE[request.param](), tmp_path_factory.mktemp("made") / "a.safetensors"))


@pytest.fixture
def proved_once(monkeypatch):
    """A plan met again is not proved again: hundreds of files that claim otherwise hold the same tables."""
    for name, module in SHOWN.items():
        monkeypatch.setattr(module, name, remembered(getattr(module, name)))


def remembered(function):
    """The function, with what it gave kept by what it was given, every number of it."""
    known = {}

    def recalled(*arguments):
        key = pickle.dumps(arguments)
        if key not in known:
            known[key] = function(*arguments)
        return known[key]

    return recalled


def refused(stored, path, description=None, tensors=None):
    """What a check says against the file with these claims and arrays, every digest made anew."""
    plain = stored.description if description is None else description
    kept = {name: value for name, value in plain.items() if name not in {"digest", "digests"}}
    write_model(path, stored.tensors if tensors is None else tensors, kept)
    return "; ".join(keyhole.check(path).record()["failures"])


def others(name, value):
    """Values a little or entirely other than this one."""
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, int):
        return [value + 1, float(value), str(value), None]
    if isinstance(value, float):
        near = (1e-5 if name == "target" else 1e-10) * max(1.0, abs(value))  # codes meet the leak asked for only nearly
        return [value + near, value - near, 0.0 if value else 1.0, str(value), None]
    if isinstance(value, str):
        return [f"{value} ", OTHER, None]
    return [0, 0.0, OTHER, [], {}] if value is None else [[], {}, None, OTHER]


def edits(name, value, most=5):
    """Every way of changing one value: at its leaves, by leaving a part out, by adding one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in edits(key, inner, min(most, 2)))
        if value:
            yield {key: kept for key, kept in value.items() if key != min(value)}
        yield {**value, "more": 1.0}
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in edits(name, inner, 1))
        yield [*value, *value[-1:]]
        yield value[:-1]
    yield from [other for other in others(name, value) if other != value or type(other) is not type(value)][:most]


@pytest.mark.slow
@pytest.mark.usefixtures("proved_once")
def test_every_entry_of_the_description_is_derived(stored, tmp_path):
    """Whatever entry is moved by 1e-10, replaced, left out or added, at any depth: the file is refused."""
    path, passed = tmp_path / "a.safetensors", []
    assert refused(stored, path) == ""
    claims = {name: value for name, value in stored.description.items() if name not in {"digest", "digests"}}
    for name, value in claims.items():
        passed += [(name, other) for other in edits(name, value) if not refused(stored, path, {**claims, name: other})]
        if name not in {"keyhole", "schema"}:  # these two are written with any file
            assert refused(stored, path, {key: kept for key, kept in claims.items() if key != name}), name
    assert passed == []
    for name in ("why", "license", "tables", "digests ", "logit_floor_reason"):
        assert refused(stored, path, {**claims, name: OTHER}), name


@pytest.mark.slow
@pytest.mark.usefixtures("proved_once")
def test_every_array_is_derived(stored, tmp_path):
    """Every array changed, left out, misshapen or added, also one that is not a number: the file is refused."""
    path = tmp_path / "a.safetensors"
    for name, array in stored.tensors.items():
        moved = np.array(array)
        moved.flat[-1:] += 1e-6
        changed = [np.full_like(array, np.nan), np.expand_dims(array, 0)] + [moved] * bool(moved.size)
        for other in changed:
            if other.size:
                assert refused(stored, path, tensors={**stored.tensors, name: other}), name
        assert refused(stored, path, tensors={key: kept for key, kept in stored.tensors.items() if key != name}), name
    for name in ("dense.more", "dense.readout.bias", "tables.more", "tables.head9.values", "note"):
        for filling in (0.0, np.nan):
            added = {**stored.tensors, name: np.full(2, filling)}
            assert f"{name} does not belong here" in refused(stored, path, tensors=added)


@pytest.mark.parametrize("case", MADE)
def test_names_of_other_constructions(case, tmp_path):
    """A file that calls itself by another construction's name, or by none's, is refused."""
    stored = read_model(save_model(MADE[case](), tmp_path / "a.safetensors"))
    own = stored.description["construction"]
    names = {"A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B′", "B1 with codes", "B2 with codes", "Z9", "", "A"}
    names |= {f"{own} with 1 distractor", f"{own} with codes", "Bogus: optimal, minimal width", "A2 with 2 distractor"}
    for name in names - {own}:
        assert refused(stored, tmp_path / "b.safetensors", {**stored.description, "construction": name}), name


def test_a_claim_that_is_stated_twice(tmp_path):
    """Of two values under one name readers choose differently, so such a header is damage; so is a further note."""
    path = save_model(MADE["pair"](), tmp_path / "a.safetensors")
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    own = header["__metadata__"]["description"]

    def with_metadata(**entries):
        text = json.dumps({**header, "__metadata__": {**header["__metadata__"], **entries}}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
        return keyhole.check(path)

    assert with_metadata().holds
    assert not with_metadata(description='{"margin": 5.0, ' + own[1:]).holds
    assert not with_metadata(note=OTHER).holds
    assert not with_metadata(format=f"{FORMAT} ").holds


def counting(function, counts):
    """The function, with every call of it counted under its name."""

    def counted(*arguments):
        counts[function.__name__] += 1
        return function(*arguments)

    return counted


def test_what_is_shown_is_shown_once(tmp_path, monkeypatch):
    """One check proves once, settles the formats once and takes the norms once."""
    path = save_model(MADE["pair"](), tmp_path / "a.safetensors")
    counts = dict.fromkeys(SHOWN, 0)
    for name, module in SHOWN.items():
        monkeypatch.setattr(module, name, counting(getattr(module, name), counts))
    assert keyhole.check(path).holds
    assert counts == {"prove": 1, "judge_formats": 1, "plan_profile": 1}


def test_a_file_of_another_version(tmp_path):
    """It is refused, with what to do: what another version proves, this one cannot say."""
    stored = read_model(save_model(MADE["pair"](), tmp_path / "a.safetensors"))
    said = refused(stored, tmp_path / "b.safetensors", {**stored.description, "keyhole": "0.0.1"})
    assert "0.0.1" in said


def test_a_margin_above_the_proved_one(tmp_path):
    """The next number above the proved margin is not proved, nor the next below the error; a weaker claim holds."""
    compiled = MADE["pair"]()
    stored = read_model(save_model(compiled, tmp_path / "a.safetensors"))
    for name, claimed in (
        ("margin", np.nextafter(compiled.proof.margin, 2)),
        ("margin", compiled.proof.margin + 9e-10),
        ("error", np.nextafter(compiled.proof.error, 0)),
        ("error", 0.0),
        ("leak", np.nextafter(compiled.proof.leak, 0)),
    ):
        assert f"proof: {name}" in refused(stored, tmp_path / "b.safetensors", {**stored.description, name: claimed})
    weaker = replace(compiled.proof, error=np.nextafter(compiled.proof.error, 1))
    assert not refused(stored, tmp_path / "b.safetensors", {**stored.description, "error": weaker.error})
