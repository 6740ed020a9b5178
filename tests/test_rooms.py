"""The house plan as a test: who imports whom, and who may wake a framework."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent / "src" / "keyhole"
MODULES = sorted(HOUSE.rglob("*.py"))

PLAN = [  # a room imports only from rows below its own; siblings never import each other
    {"__main__"},
    {"cli"},
    {"page"},
    {"studies"},
    {"verbs"},
    {"compiler", "certify", "lab", "latent", "pretrained"},
    {"bounds"},
    {"attention", "boolean"},
    {"files"},
    {"figure", "certificate", "profile", "papers"},
    {"errors"},
    {"__init__"},
]
FLOOR = {room: floor for floor, row in enumerate(PLAN) for room in row}  # a room not listed is a KeyError

FRAMEWORKS = {"jax", "optax", "torch", "transformers", "transformer_lens", "ray"}
SLEEPING = {  # what importing a room must not wake
    "attention": FRAMEWORKS | {"scipy", "altair"},
    "boolean": FRAMEWORKS | {"scipy", "altair"},
    "bounds": FRAMEWORKS | {"scipy", "altair", "numpy"},
    "certify": FRAMEWORKS | {"scipy", "altair", "sklearn"},
    "compiler": FRAMEWORKS | {"scipy", "altair"},
    "latent": FRAMEWORKS | {"scipy", "altair", "sklearn"},
}


def room_of(path: Path) -> str:
    """The room a module lives in: its folder, or itself for the values everyone may hold."""
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def rooms_imported(path: Path) -> set[str]:
    """Every room named by an import statement of this module, wherever it stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import; name the room in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = {tuple(name.split(".")) for name in names if name.startswith("keyhole.")}
    return {"__init__" if part[1] in {"__version__", "VERBS"} else part[1] for part in parts}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_imports_go_down(path):
    """Every import of this module leads to a lower floor, or stays in its room."""
    here = room_of(path)
    up = {room for room in rooms_imported(path) - {here} if FLOOR[room] <= FLOOR[here]}
    assert not up, f"{here} may not import {', '.join(sorted(up))}: join them in verbs/ or studies/ instead"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_frameworks_stay_in_their_rooms(path):
    """Only lab names jax, only pretrained torch or transformers, only the compiler's export transformer-lens."""
    allowed = {
        "lab": {"jax", "optax", "ray"},
        "pretrained": {"torch", "transformers"},
        "compiler": {"transformer_lens"},
    }.get(room_of(path), set())
    named = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named.add(node.module.split(".")[0])
    assert not (named & FRAMEWORKS) - allowed


def woken(program: str, sleepers: set[str]) -> set[str]:
    """Which of these packages a fresh interpreter has loaded after running the program."""
    program = f"{program}\nimport sys; print(*{sleepers!r} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


ROOMS = sorted({room_of(path) for path in MODULES} & set(SLEEPING))


@pytest.mark.parametrize("room", ROOMS)
def test_theory_wakes_no_framework(room):
    """Importing a theory room leaves every framework asleep, and what it does not need."""
    assert not woken(f"import keyhole.{room}", SLEEPING[room])


@pytest.mark.parametrize("program", ["import keyhole", "import keyhole.cli"])
def test_the_door_is_light(program):
    """`import keyhole`, and building the command line, wake nothing numerical."""
    assert not woken(program, FRAMEWORKS | {"numpy", "scipy", "altair", "jaxtyping"})
