"""The store: what is put in comes out, whoever else is at it and whatever happens to the file."""

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.errors import StoreError
from keyhole.files.model import read_model
from keyhole.files.reading import versions
from keyhole.sweeps.runs.run import RunSpec, digest, run
from keyhole.sweeps.runs.store import PACKAGES, SCHEMA, Store, transaction
from keyhole.training.learners import learner_named
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin


def specs(count, context=8, samples=40):
    """So many runs that differ in their seeds."""
    return [RunSpec(SparseTask("and:2"), Coin(), context, samples, seed) for seed in range(count)]


def filled(folder, count=3):
    """A closed store with so many runs, and the runs."""
    finished = [(spec, run(spec)) for spec in specs(count)]
    with Store(folder) as store:
        store.add(finished)
    return finished


def test_a_run_comes_back_as_it_was(tmp_path):
    """Configuration and result are read as they were written, with the versions and the processor beside them."""
    spec, result = filled(tmp_path)[1]
    with Store(tmp_path) as store:
        kept = store.run(spec.identity)
    assert kept.configuration == spec.record()
    assert kept.result.record() == result.record()
    packages = {"jax", "jaxlib", "optax", "numpy", "scipy", "scikit-learn"}
    assert set(kept.versions) == {"keyhole", "python"} | packages
    assert kept.cpu
    assert (kept.row.success, kept.row.accuracy) == (result.success, result.accuracy)


@given(st.lists(st.floats(), min_size=1, max_size=4))
@settings(max_examples=20)
def test_numbers_keep_every_bit(tmp_path_factory, numbers):
    """Any float in a result, infinite or undefined too, is read back as itself."""
    folder = tmp_path_factory.mktemp("store")
    (spec,) = specs(1)
    made = replace(run(spec), numbers={str(i): number for i, number in enumerate(numbers)}, weights=None)
    with Store(folder) as store:
        store.add([(spec, made)])
        back = store.run(spec.identity).result
    assert [repr(value) for value in back.numbers.values()] == [repr(number) for number in numbers]


def test_records_without_a_digest_are_read(tmp_path):
    """A result from before digests were kept has none; the others have that of their weights."""
    spec, result = filled(tmp_path)[0]
    old = {name: value for name, value in result.record().items() if name != "weights_digest"}
    with Store(tmp_path) as store:
        assert store.run(spec.identity).result.weights_digest == digest(result.weights)
        store.connection.execute("UPDATE runs SET result = ?", (json.dumps(old),))
        assert store.run(spec.identity).result.weights_digest is None


@pytest.mark.parametrize("change", ["name", "shape", "bit"])
def test_a_digest_tells_weights_apart(change):
    """Equal values in any order and precision have one digest; another name, shape or last bit has another."""
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(2)
    base = digest({"a": a, "b": b})
    assert digest({"b": b.copy(), "a": np.asfortranarray(a.astype(np.float64))}) == base
    changed = {
        "name": {"c": a, "b": b},
        "shape": {"a": a.reshape(3, 2), "b": b},
        "bit": {"a": a, "b": np.nextafter(b, 2)},
    }[change]
    assert digest(changed) != base


def test_runs_of_other_versions_are_counted(tmp_path):
    """Runs whose packages are not the present are counted by what differs; a keyhole of another day is not."""
    names = [spec.identity for spec, _ in filled(tmp_path)]
    with Store(tmp_path) as store:
        assert store.other_versions(names, Coin()) == {}
        for name, change in zip(
            names, ({"jax": "0.0.1"}, {"jax": "0.0.1", "numpy": "1"}, {"keyhole": "0"}), strict=True
        ):
            text = json.dumps(versions(PACKAGES) | change)
            store.connection.execute("UPDATE runs SET versions = ? WHERE identity = ?", (text, name))
        assert store.other_versions(names, Coin()) == {"jax 0.0.1": 1, "jax 0.0.1 and numpy 1": 1}
        assert store.other_versions(names[2:], Coin()) == {}


@pytest.mark.parametrize(
    ("learner", "deciding"),
    [
        ("transformer", {"jax", "jaxlib", "optax", "numpy"}),
        ("sklearn:tree", {"numpy", "scipy", "scikit-learn"}),
        ("consistent:junta", {"numpy"}),
        ("elimination", {"numpy"}),
        ("gf2", {"numpy"}),
        ("coin", {"jax", "jaxlib", "optax", "numpy", "scipy", "scikit-learn"}),
    ],
)
def test_a_learner_is_told_of_the_packages_that_decide_for_it(tmp_path, learner, deciding):
    """Another version of a package is counted where the learner's numbers come from it; one not recorded is not."""
    name = filled(tmp_path)[0][0].identity
    learner = Coin() if learner == "coin" else learner_named(learner)
    with Store(tmp_path) as store:
        for package in versions(PACKAGES):
            text = json.dumps(versions(PACKAGES) | {package: "0.0.1"})
            store.connection.execute("UPDATE runs SET versions = ?", (text,))
            assert store.other_versions([name], learner) == ({f"{package} 0.0.1": 1} if package in deciding else {})
            text = json.dumps({one: value for one, value in versions(PACKAGES).items() if one != package})
            store.connection.execute("UPDATE runs SET versions = ?", (text,))
            assert store.other_versions([name], learner) == {}


@dataclass(frozen=True)
class Stating(Coin):
    """A coin that knows which packages decide it."""

    packages: ClassVar[tuple[str, ...]] = ("numpy", "pytest", "no-such-package")


def test_packages_that_a_learner_states_are_stored(tmp_path):
    """Their versions stand beside the run, where they are installed, and another version of them is pointed out."""
    spec = replace(specs(1)[0], learner=Stating())
    with Store(tmp_path) as store:
        store.add([(spec, run(spec))])
        stored = store.run(spec.identity).versions
        assert stored == versions((*PACKAGES, "pytest"))
        assert store.other_versions([spec.identity], Stating()) == {}
        store.connection.execute("UPDATE runs SET versions = ?", (json.dumps(stored | {"pytest": "0", "jax": "0"}),))
        assert store.other_versions([spec.identity], Stating()) == {"pytest 0": 1}


def test_what_is_stored_is_not_read_back(tmp_path, monkeypatch):
    """Storing runs gives the rows that reading them would, without reading."""
    finished = [(spec, run(spec)) for spec in specs(3)]
    with Store(tmp_path) as store:
        with monkeypatch.context() as patched:
            patched.setattr(store, "outcomes", lambda _names: pytest.fail("the rows were read"))
            kept = store.add(finished)
        assert kept == store.outcomes([spec.identity for spec, _ in finished])


def test_a_second_result_changes_nothing(tmp_path):
    """A run that is there stays as it is: no row is doubled or replaced."""
    spec, result = filled(tmp_path)[0]
    with Store(tmp_path) as store:
        kept = store.add([(spec, replace(result, accuracy=0.123))])
        assert kept[spec.identity].accuracy == result.accuracy
        assert len(store.rows()) == 3
        assert store.run(spec.identity).row.accuracy == result.accuracy


def test_rows_are_found_by_task_learner_and_context(tmp_path):
    """Each filter leaves what it names; together they leave what all name."""
    chosen = [RunSpec(SparseTask(name), Coin(), T, 30, 0) for name in ("and:2", "or:2") for T in (6, 7)]
    with Store(tmp_path) as store:
        store.add((spec, run(spec)) for spec in chosen)
        assert len(store.rows()) == 4
        assert [row.context for row in store.rows(task="or:2")] == [6, 7]
        assert [row.task for row in store.rows(contexts=[7], learner="coin")] == ["and:2", "or:2"]
        assert not store.rows(learner="other")


def test_names_may_be_abbreviated(tmp_path):
    """A beginning that only one run has names it; others are refused."""
    finished = filled(tmp_path)
    with Store(tmp_path) as store:
        for spec, _ in finished:
            assert store.run(spec.identity[:12].upper()).row.identity == spec.identity
        with pytest.raises(StoreError, match="Several runs have names that begin with"):
            store.run("")
        with pytest.raises(StoreError, match="No run has a name that begins with"):
            store.run("xyz")


def test_weights_are_kept_on_request(tmp_path):
    """Weights that a result carries stand beside the database, with the configuration in the file."""
    filled(tmp_path, 2)
    with Store(tmp_path) as store:
        first = specs(1)[0].identity
        kept = read_model(store.weights_path(first))
        assert kept.description["configuration"] == specs(1)[0].record()
        assert kept.tensors["score"].shape == (2, 3)


@pytest.mark.parametrize("name", ["../../victim", "/etc/victim", "..", "victim", "A" * 64])
def test_an_identity_never_becomes_a_path(tmp_path, name):
    """A row whose name was changed to lead elsewhere names no weights."""
    with Store(tmp_path) as store, pytest.raises(StoreError, match="does not name a run"):
        store.weights_path(name)


def test_a_locked_store_is_told(locked):
    """A store in a folder that may not be entered is refused in a sentence, for reading and for adding."""
    with pytest.raises(PermissionError):
        Store(locked / "store", create=False)
    with pytest.raises(StoreError, match="cannot be made: Permission denied"):
        Store(locked / "store")
    with pytest.raises(StoreError, match=r"Permission denied|cannot be opened"):
        Store(locked)


def test_a_full_database_keeps_what_it_has(tmp_path):
    """When no page is left the sentence says so, the transaction leaves nothing, and earlier runs are whole."""
    finished = filled(tmp_path)
    big = replace(run(specs(4)[3]), readings=({"x" * 200_000: 1.0},))
    with Store(tmp_path) as store:
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="has no room left; what it holds is safe"):
            store.add([(specs(4)[3], big)])
    with Store(tmp_path) as store:
        assert {row.identity for row in store.rows()} == {spec.identity for spec, _ in finished}
        store.add([(specs(4)[3], big)])  # with room again, it goes on


def test_what_is_broken_off_leaves_nothing(tmp_path):
    """A transaction that is interrupted is undone, and the store goes on."""

    def broken_off(store):
        with transaction(store.connection, store.path):
            store.connection.execute("DELETE FROM runs")
            raise KeyboardInterrupt

    filled(tmp_path)
    with Store(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            broken_off(store)
        assert len(store.rows()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["folder", "file"])
def test_a_store_that_cannot_be_written_is_read(closed):
    """Without leave to write, runs are still listed, and adding one is refused in a sentence."""
    with tempfile.TemporaryDirectory() as name:
        finished = filled(Path(name))
        (Path(name) / "runs.sqlite").chmod(0o444)
        Path(name).chmod(0o555 if closed == "folder" else 0o777)
        program = (
            f"import os, sys; sys.path[:0] = {sys.path!r}\n"
            "from pathlib import Path; from keyhole.errors import StoreError\n"
            "from keyhole.sweeps.runs.store import Store\n"
            "if os.getuid() == 0: os.setuid(65534)\n"  # the permissions of files do not bind the superuser
            f"store = Store(Path({name!r})); print(len(store.rows()))\n"
            "try: store.require_writable()\n"
            "except StoreError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        Path(name).chmod(0o755)
    assert done.returncode == 0, done.stderr
    count, sentence = done.stdout.splitlines()
    assert count == str(len(finished))
    assert "cannot be written to; what it holds is unharmed" in sentence


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    """A file in the way of the folder is no store."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        Store(tmp_path / "file" / "store")


def test_no_store_is_not_made_by_reading(tmp_path):
    """Asked not to, the store makes no file."""
    with pytest.raises(StoreError, match="There are no runs in"):
        Store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    """What is not a database is refused, and not a byte of it changes."""
    content = b"no database at all" * 100
    (tmp_path / "runs.sqlite").write_bytes(content)
    with pytest.raises(StoreError, match="is not a database, and was left as it is"):
        Store(tmp_path)
    assert (tmp_path / "runs.sqlite").read_bytes() == content


def test_other_databases_and_newer_ones_are_refused(tmp_path):
    """A database of another program, or of a later schema, is not touched."""
    with sqlite3.connect(tmp_path / "runs.sqlite") as other:
        other.execute("CREATE TABLE theirs(x)")
    other.close()
    with pytest.raises(StoreError, match="of another program"):
        Store(tmp_path)
    filled(tmp_path / "ours")
    newer = sqlite3.connect(tmp_path / "ours" / "runs.sqlite")
    newer.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    newer.close()
    with pytest.raises(StoreError, match=f"by a newer keyhole .schema {SCHEMA + 1}; this one reads {SCHEMA}."):
        Store(tmp_path / "ours")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A store of a few pages, to be damaged in copies."""
    folder = tmp_path_factory.mktemp("sound")
    filled(folder, 12)
    return folder


@pytest.mark.slow
@given(place=st.floats(0, 1), length=st.sampled_from([1, 64, 4096]), byte=st.integers(0, 255), cut=st.booleans())
@settings(max_examples=50)
def test_damage_never_gives_a_traceback(sound, tmp_path_factory, place, length, byte, cut):
    """A store with bytes overwritten, or its end cut off, answers rightly or refuses in a sentence."""
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copytree(sound, folder, dirs_exist_ok=True)
    file = folder / "runs.sqlite"
    content = bytearray(file.read_bytes())
    start = int(place * (len(content) - 1))
    if cut:
        del content[start:]
    else:
        content[start : start + length] = bytes([byte]) * len(content[start : start + length])
    file.write_bytes(content)
    try:
        with Store(folder) as store:
            for row in store.rows():
                store.run(row.identity)
            store.require_writable()
    except StoreError as error:
        assert str(error).startswith(("The store ", "The run ", "No run ", repr(str(file))))  # noqa: PT017


def test_a_run_that_is_gone_is_said(tmp_path):
    """What was asked of a run that the store does not hold is refused in a sentence."""
    with Store(tmp_path) as store, pytest.raises(StoreError, match="no longer holds the run abcd"):
        store.configurations(["abcd"])
