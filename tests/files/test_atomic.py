"""Files are written whole, or not at all, and say why not."""

import os
import stat
from pathlib import Path
from threading import Thread

import pytest

from keyhole.errors import OutputError
from keyhole.files.atomic import require_file_place, require_folder_place, write_file


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


def test_a_link_is_followed(tmp_path):
    """What a link leads to is replaced, in its own folder; the link stays a link, also through two of them."""
    target = tmp_path / "far" / "target.txt"
    write_file(target, b"old")
    (tmp_path / "near").symlink_to(target)
    link = tmp_path / "link.txt"
    link.symlink_to("near")
    assert write_file(link, b"new") == link
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    """A dangling link gets the file it names, and the folders it needs."""
    link = tmp_path / "link.txt"
    link.symlink_to("later/target.txt")
    write_file(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "later" / "target.txt").read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_keeps_its_mode(tmp_path, mode):
    """What others may not read stays so, and so does every other permission."""
    path = tmp_path / "secret.txt"
    write_file(path, b"old")
    path.chmod(mode)
    write_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_mode(tmp_path):
    """Where there was no file, the process's mask decides, as for any program."""
    before = os.umask(0o027)
    try:
        path = write_file(tmp_path / "new.txt", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_device_is_written_through():
    """A device is neither replaced nor removed, and what it refuses is a sentence."""
    assert write_file(Path(os.devnull), b"all") == Path(os.devnull)
    with pytest.raises(OutputError, match="No space left on device"):
        write_file(Path("/dev/full"), b"all")


def test_a_pipe_is_written_through(tmp_path):
    """Whoever reads a named pipe gets every byte, and the pipe stays."""
    pipe, content, got = tmp_path / "pipe", bytes(range(256)) * 1000, []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_file(pipe, content)
    reader.join(timeout=30)
    assert got == [content]
    assert pipe.is_fifo()


@pytest.mark.parametrize("length", [256, 5000])
def test_a_long_name_is_refused(tmp_path, length):
    """A name or a folder longer than a file system takes is refused in a sentence."""
    for path in (tmp_path / ("x" * length), tmp_path / ("x" * length) / "file.txt"):
        with pytest.raises(OutputError, match="cannot be written: File name too long"):
            write_file(path, b"")


def test_the_longest_name_is_written(tmp_path):
    """A name of 255 letters is allowed, so the part file's own name must not be longer."""
    path = write_file(tmp_path / ("x" * 255), b"all")
    assert path.read_bytes() == b"all"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_none_is_refused(tmp_path):
    """What no system takes for a name is refused in a sentence."""
    with pytest.raises(OutputError, match="cannot be written: embedded null byte"):
        write_file(tmp_path / "a\0b", b"")


def test_a_locked_folder_is_refused(locked):
    """A folder that may not be entered is told in a sentence, for a file in it and for a folder in it."""
    for path in (locked / "x.svg", locked / "sub" / "x.json"):
        with pytest.raises(OutputError, match="cannot be written: Permission denied"):
            write_file(path, b"")


@pytest.mark.parametrize("require", [require_file_place, require_folder_place])
def test_a_place_is_refused_before_anything_is_written(locked, require):
    """A folder that may not be entered, and one that takes no files of ours, such as the root of the file system."""
    for place, why in (
        (locked / "x", "denied"),
        (locked / "sub" / "x", "denied"),
        (Path("/nowhere/x"), "no new files"),
    ):
        with pytest.raises(OutputError, match=why):
            require(place)


def test_a_place_for_a_file(tmp_path):
    """A new name, an old file, a link and a device will do; a folder and what lies below a file will not."""
    old, link = tmp_path / "old", tmp_path / "link"
    old.write_text("old")
    link.symlink_to(tmp_path / "new")
    for place in (tmp_path / "new", tmp_path / "a" / "b" / "new", old, link, Path(os.devnull)):
        require_file_place(place)
    for place, why in ((tmp_path, "is a folder"), (old / "x", "not a folder"), (tmp_path / ("x" * 300), "too long")):
        with pytest.raises(OutputError, match=why):
            require_file_place(place)
    assert old.read_text() == "old"
    assert not (tmp_path / "a").exists()


def test_a_place_for_a_folder(tmp_path):
    """A folder, and a name that is free, are places for a folder; a file and what lies below it are not."""
    (tmp_path / "old").write_text("old")
    for place in (tmp_path, tmp_path / "a" / "b"):
        require_folder_place(place)
    for place, why in ((tmp_path / "old", "is a file"), (tmp_path / "old" / "x", "not a folder")):
        with pytest.raises(OutputError, match=why):
            require_folder_place(place)
    assert not (tmp_path / "a").exists()
