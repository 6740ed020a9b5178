"""What the documents say of the tree is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NOTATION = (ROOT / "docs" / "NOTATION.md").read_text("utf8")
PLACES = re.compile(r"`((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|md|j2))?)`")  # a folder, or a file in one


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_every_place_that_is_named_exists(text):
    """A file or folder in backquotes is there, from the root of the repository or of the package."""
    named = PLACES.findall(text.read_text("utf8"))
    lost = [place for place in named if not ((ROOT / place).exists() or (ROOT / "src" / "keyhole" / place).exists())]
    assert not [place for place in lost if not place.startswith(("./.keyhole", "report", "attributions"))]


def test_every_package_is_in_the_architecture():
    """The picture of the layers has every package of the tree."""
    picture = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf8")
    packages = [path.parent.name for path in (ROOT / "src" / "keyhole").glob("*/__init__.py")]
    assert not [name for name in packages if f"{name}/ " not in picture]


def test_every_name_of_the_notation_is_in_its_package():
    """A name in the last column of a table is a word of the code of the packages that its heading names."""
    lost = []
    for heading, table in re.findall(r"^## (.*)\n((?:(?!^## ).*\n?)*)", NOTATION, re.MULTILINE):
        places = [ROOT / "src" / "keyhole" / place for place in re.findall(r"\w+(?=/)", heading)] or [ROOT / "src"]
        files = [
            *(path for place in places for path in place.rglob("*.py")),
            ROOT / "src" / "keyhole" / "norm_profile.py",
        ]
        words = set(re.findall(r"\w+", " ".join(path.read_text("utf8") for path in files)))
        for row in re.findall(r"^\|.*\|$", table, re.MULTILINE):
            lost += [(heading, name) for name in re.findall(r"`(\w+)`", row) if name not in words]
    assert not lost
