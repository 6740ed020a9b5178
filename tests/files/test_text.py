"""An answer as a text file."""

import pytest

from keyhole.errors import OutputError
from keyhole.files.text import write_text


def test_what_is_written_is_there(tmp_path):
    """The text, and a line break at its end."""
    write_text(tmp_path / "a.txt", "gap ≤ 1")
    assert (tmp_path / "a.txt").read_text("utf8") == "gap ≤ 1\n"


def test_a_place_that_is_not_there_is_refused(tmp_path):
    """The path and the reason."""
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        write_text(tmp_path / "no" / "a.txt", "")
