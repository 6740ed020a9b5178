"""What the documents say of the tree is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
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
