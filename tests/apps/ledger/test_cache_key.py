"""What keys a kept finding: code without its words, the packages it runs on, and nothing that cannot be reached."""

import runpy
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import pytest

from keyhole.apps.ledger import cache_key
from keyhole.apps.ledger.cache_key import reachable
from keyhole.apps.ledger.finding import Experiment, NamedFunction
from keyhole.apps.ledger.ledger import CHECKPOINTS, LIBRARY, PRETRAINING, TRAINING, find
from keyhole.errors import ArgumentError

pytestmark = pytest.mark.slow

CLAIM = find("sharpness").claim
OWN = "own_measurement"  # a user's module, in a folder of theirs
FILES = {
    f"{OWN}.py": '''
"""How it is measured."""
from math import pi
import own_helpers.near
def measure(scale, seed):
    """Measure."""
    from own_helpers import far  # lazily
    return far.twice(pi)
''',
    "own_helpers/__init__.py": "",
    "own_helpers/near.py": "from keyhole.bounds.softmax import softmax_move\n",
    "own_helpers/far.py": "import numpy\ndef twice(x):\n    return 2 * x\n",
    "own_helpers/unused.py": "import scipy\n",
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's files on the path, and a function that changes one and gives the key of the measurement."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def key(name=f"{OWN}.py", old="", new=""):
        text = (tmp_path / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new) if old else text)
        forget()
        return key_of(NamedFunction(OWN))

    yield key
    forget()


def forget():
    """Read every file anew, as another process does."""
    for cached in (cache_key.read_module, cache_key.sources, cache_key.find_distribution):
        cached.cache_clear()


def key_of(measure, scale="quick", seed=0, claim=CLAIM):
    """The key of a finding."""
    return cache_key.cache_key(Experiment(claim, measure), scale, seed)


def test_words_and_layout_are_no_code(own):
    """Docstrings, comments and line breaks change no key, in any module that is reached."""
    before = own()
    assert own(old='"""How it is measured."""', new="'''Another\nsentence.'''") == before
    assert own(old="# lazily", new="") == before
    assert own(old='    """Measure."""\n', new="") == before
    assert own("own_helpers/far.py", "    return 2 * x", "\n    return (2\n        * x)") == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (f"{OWN}.py", "far.twice(pi)", "far.twice(3)"),
        ("own_helpers/far.py", "2 * x", "3 * x"),  # imported inside a function
        ("own_helpers/near.py", "softmax_move", "softmax_weigh"),
        ("own_helpers/far.py", "import numpy\n", ""),
    ],
)
def test_code_that_is_reached_counts(own, name, old, new):
    """A changed expression or import, here or in a module that is imported lazily, changes the key."""
    assert own() != own(name, old, new)


def test_code_that_is_not_reached_does_not_count(own):
    """A module beside those that are imported may change as it likes."""
    before = own()
    assert own("own_helpers/unused.py", "import scipy", "import jax; x = 1") == before


def test_the_text_of_the_claim_the_scale_and_the_seed_count():
    """Another prediction, statement, scale or seed is another finding; the same is the same."""
    measure = find("sharpness").measure
    keys = [
        key_of(measure),
        key_of(measure, scale="paper"),
        key_of(measure, seed=1),
        key_of(measure, claim=replace(CLAIM, prediction="something else")),
        key_of(measure, claim=replace(CLAIM, statement="something else")),
        key_of(NamedFunction("keyhole.apps.ledger.representation.sharpness", "another")),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(measure) == keys[0]


HEADS = {"head-degree", "head-influence", "head-parity"}  # `attention.evaluate` serves arrays of any library
TRAINED = {experiment.claim.id for experiment in (*TRAINING, *PRETRAINING)}
READ = {experiment.claim.id for experiment in CHECKPOINTS}  # of arrays of any library, and by rigorous arithmetic
# these ask a public function, whose result displays itself
SHOWN = {"registered-growth", "registered-growth-3200", "registered-growth-12800"}


@pytest.mark.parametrize(
    ("package", "changed"),
    [
        ("jax", TRAINED | HEADS | READ),
        ("optax", TRAINED),
        ("python-flint", TRAINED | READ | {"joined", "sharpness", "representation"}),
        ("rich", SHOWN),
    ],
)
def test_a_package_counts_where_it_is_used(monkeypatch, package, changed):
    """Another jax measures again what trains, and what evaluates heads by code that takes jax's arrays; no other."""
    before = {experiment.claim.id: cache_key.cache_key(experiment, "quick", 0) for experiment in LIBRARY}
    versions = cache_key.versions
    monkeypatch.setattr(cache_key, "versions", lambda names: versions(names) | {package: "another"})
    after = {experiment.claim.id: cache_key.cache_key(experiment, "quick", 0) for experiment in LIBRARY}
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.long
def test_a_docstring_of_the_library_measures_nothing_again(monkeypatch):
    """With every docstring of the package changed each key is as it was; a renamed function changes some."""
    before = {experiment.claim.id: cache_key.cache_key(experiment, "quick", 0) for experiment in LIBRARY}

    def rewritten(change):
        forget()
        parse = cache_key.ast.parse
        monkeypatch.setattr(cache_key.ast, "parse", lambda content: parse(change(content)))
        keys = {experiment.claim.id: cache_key.cache_key(experiment, "quick", 0) for experiment in LIBRARY}
        monkeypatch.setattr(cache_key.ast, "parse", parse)
        forget()
        return {name for name in keys if keys[name] != before[name]}

    assert rewritten(lambda content: content.replace(b'"""', b'"""More: ', 1) + b"# the end") == set()
    price = rewritten(lambda content: content.replace(b"def softmax_move(", b"def softmax_move_by("))
    assert price >= {"softmax-smoothness"}
    assert not price & {"floor", "sharpness", "sufficiency"}


REACHED = """
import sys
from keyhole.apps.ledger.cache_key import NOT_FOLLOWED, reachable
from keyhole.apps.ledger.ledger import find
for name in sys.argv[1:]:
    find(name).measure("quick", 0)
code = {module for name in sys.argv[1:] for module in reachable(find(name).measure).code}
# what this program itself imports
own = {"keyhole.apps.ledger.ledger", "keyhole.apps.ledger.cache_key", "keyhole.files.package_versions"}
for name, module in sys.modules.items():
    package = hasattr(module, "__path__") or name.endswith("statements")
    if name.startswith("keyhole.") and not package and not name.startswith(NOT_FOLLOWED) and name not in code | own:
        print(name)
"""


@pytest.mark.parametrize("name", ["joined", "theorem-t", "inference-rates"])
def test_what_is_imported_is_reached(name):
    """After a measurement no module of keyhole is loaded that the key does not cover."""
    # what `__init__` files import on the way is loaded too, and used by nobody
    run = subprocess.run([sys.executable, "-c", REACHED, name], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    packages = ("attention", "boolean", "bounds", "compiler", "files", "kernels", "latent", "rigorous")
    assert not loaded - loaded_by(*(f"keyhole.{package}" for package in packages))


@cache
def loaded_by(*packages):
    """Every module of keyhole that importing these packages imports."""
    program = (
        f"import {', '.join(packages)}, sys; print(*(name for name in sys.modules if name.startswith('keyhole.')))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_every_measurement_of_the_library_is_there():
    """Each claim names a function that exists, in a module that can be read."""
    for experiment in LIBRARY:
        assert callable(getattr(import_module(experiment.measure.module), experiment.measure.name))
        assert experiment.measure.module in reachable(experiment.measure).code
        assert reachable(experiment.measure).origin == ""


def test_a_file_that_also_runs_its_claim_reaches_what_it_measures():
    """Importing `register` and `reproduce` beside the measurement adds neither laboratory nor ledger to a key."""
    example = runpy.run_path(str(Path(__file__).parent.parent.parent / "examples" / "own_claim.py"))
    reach = reachable(example["measure"])
    assert set(reach.versions) == {"numpy"}
    assert "keyhole.bounds.softmax" in reach.code
    assert not any(name.startswith(("keyhole.training", "keyhole.apps.ledger.training")) for name in reach.code)


def measure_scaled(factor, scale, seed):
    """A measurement with a setting."""
    return factor, scale, seed


def test_a_setting_counts():
    """A function given a setting by `partial` is keyed by the setting; one that is no plain value is refused."""
    assert key_of(partial(measure_scaled, 1)) != key_of(partial(measure_scaled, 2))
    assert key_of(partial(measure_scaled, 1)) == key_of(partial(measure_scaled, 1))
    assert reachable(partial(measure_scaled, 1)).origin == __file__
    with pytest.raises(ArgumentError, match="settings that are no plain values"):
        key_of(partial(measure_scaled, [1]))


def test_a_measurement_without_a_source_is_refused():
    """A function inside another, or typed at a prompt, may depend on what no file says."""
    typed = {}
    exec("def measure(scale, seed): return 1", typed)  # noqa: S102  (as a prompt does)
    for measure in (lambda scale, seed: (scale, seed), typed["measure"], NamedFunction("keyhole.apps.ledger.nowhere")):
        with pytest.raises(ArgumentError):
            key_of(measure)


def test_stating_claims_imports_no_code():
    """`keyhole claims` loads the statements alone: none of the packages that measure, and nothing numerical."""
    program = (
        "import sys\nfrom keyhole.cli.app import app\n"
        "app(['claims', '--json'], standalone_mode=False)\n"
        "parts = {'.'.join(name.split('.')[:2]) for name in sys.modules if name.startswith('keyhole.')}\n"
        "print(*sorted(parts | ({'numpy', 'scipy', 'jax', 'sklearn', 'altair', 'flint'} & set(sys.modules))),"
        " file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stderr.split())
    assert loaded <= {
        f"keyhole.{name}"
        for name in (
            *("api", "claims", "cli", "decimals", "errors", "figure", "files", "papers", "progress", "show"),
            "verdicts",  # words alone
        )
    }
