"""Files are written whole, or not at all, and say why not."""

import pytest

from keyhole.errors import OutputError
from keyhole.files.atomic import write_file


def test_writes_into_new_folders_and_over_old_files(tmp_path):
    """The content stands at the path, whatever stood there, and nothing else is left."""
    path = tmp_path / "a" / "b" / "c.txt"
    write_file(path, b"old")
    assert write_file(path, b"new") == path
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """If the last step fails, the old content stays and no part file remains."""
    path = tmp_path / "kept.txt"
    write_file(path, b"old")

    def fail(_self, _target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_refuses_a_folder(tmp_path):
    """A folder is not overwritten."""
    with pytest.raises(OutputError, match="is a folder; name a file inside it"):
        write_file(tmp_path, b"")


def test_refuses_a_path_through_a_file(tmp_path):
    """A path that leads through a file is refused with the system's reason."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match="cannot be written"):
        write_file(tmp_path / "file" / "inside.txt", b"")
