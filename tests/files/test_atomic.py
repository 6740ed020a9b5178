"""Files are written whole, or not at all, and say why not."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from keyhole.errors import DataError, OutputError, StoreError
from keyhole.files.atomic import require_file_place, require_folder_place, write_file
from keyhole.files.looking import is_folder, is_there


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


def test_a_loop_of_links_is_refused(tmp_path):
    """Links that lead to each other are refused in a sentence and left alone, as a file and as a folder."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for path in (tmp_path / "a", tmp_path / "a" / "x.txt"):
        with pytest.raises(OutputError, match="cannot be written: Too many levels of symbolic links"):
            write_file(path, b"")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
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


def test_a_file_is_never_more_open_than_it_was(tmp_path, monkeypatch):
    """While a private file is written, no other user can read the part."""
    path = tmp_path / "secret.txt"
    write_file(path, b"old")
    path.chmod(0o600)
    seen = []
    monkeypatch.setattr("os.chown", lambda part, *_owner: seen.append(part.stat().st_mode))  # the step after writing
    write_file(path, b"new")
    assert [stat.S_IMODE(mode) for mode in seen] == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(tmp_path):
    """A file of another user still is that user's after root has written it."""
    path = write_file(tmp_path / "theirs.txt", b"old")
    os.chown(path, 1234, 4321)
    write_file(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_an_owner_that_cannot_be_kept_is_no_trouble(tmp_path, monkeypatch):
    """Who may write a file but not give it away still writes it."""

    def refuse(*_arguments):
        raise PermissionError(1, "Operation not permitted")

    path = write_file(tmp_path / "file.txt", b"old")
    monkeypatch.setattr("os.chown", refuse)
    write_file(path, b"new")
    assert path.read_bytes() == b"new"


def device(path, kind, major, minor):
    """A device node of the test's own; skipped where none may be made or opened."""
    try:
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
        if kind == stat.S_IFCHR:
            path.open("ab").close()
    except OSError as error:
        pytest.skip(f"no device nodes here: {error}")
    return path


def test_a_device_stays_a_device(tmp_path):
    """Output to a copy of the null device goes through it; it is not replaced."""
    null = device(tmp_path / "null", stat.S_IFCHR, 1, 3)
    assert write_file(null, b"text") == null
    assert null.is_char_device()
    assert list(tmp_path.iterdir()) == [null]


def test_a_link_to_a_device_stays_a_link(tmp_path):
    """Output to a link that leads to a device goes through both."""
    null = device(tmp_path / "null", stat.S_IFCHR, 1, 3)
    link = tmp_path / "stdout"
    link.symlink_to(null)
    write_file(link, b"text")
    assert link.is_symlink()
    assert null.is_char_device()


def test_a_full_device_is_told(tmp_path):
    """What a device does not take is said in a sentence, and the device stays."""
    full = device(tmp_path / "full", stat.S_IFCHR, 1, 7)
    with pytest.raises(OutputError, match="cannot be written: No space left on device"):
        write_file(full, b"text")
    assert full.is_char_device()


def test_a_block_device_is_refused(tmp_path):
    """A disk is not written to; the node leads to no driver, so that nothing can happen to a real one."""
    disk = device(tmp_path / "disk", stat.S_IFBLK, 240, 250)
    with pytest.raises(OutputError, match="is a block device; name a file"):
        write_file(disk, b"text")
    assert disk.is_block_device()


def test_a_socket_is_refused(tmp_path, monkeypatch):
    """A socket is not replaced."""
    monkeypatch.chdir(tmp_path)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        with pytest.raises(OutputError, match="is a socket; name a file"):
            write_file(Path("socket"), b"text")
        assert Path("socket").is_socket()


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


def test_the_file_that_standard_output_goes_to_is_written_through(tmp_path):
    """A link such as /dev/stdout, with output sent to a file, adds to what was printed and takes nothing from it.

    The link is the test's own: a fault here must not touch the machine's.
    """
    kept, link = tmp_path / "kept.txt", tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    code = (
        "import sys; from pathlib import Path; from keyhole.files.atomic import write_file; "
        "print('printed'); write_file(Path(sys.argv[1]), b'written\\n'); print('after')"
    )
    with kept.open("wb") as out:
        subprocess.run([sys.executable, "-c", code, str(link)], stdout=out, check=True)
    assert link.is_symlink()
    assert kept.read_text() == "printed\nwritten\nafter\n"


@pytest.mark.parametrize("length", [256, 300, 5000])
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


@pytest.mark.slow
def test_many_folders_are_made(tmp_path):
    """Folders in folders, more than calls may nest, are made one after the other."""
    path = tmp_path / Path(*["d"] * 1500) / "file.txt"
    assert write_file(path, b"deep").read_bytes() == b"deep"
    path.unlink()
    for folder in path.parents:  # what clears temporary folders nests its calls
        if folder == tmp_path:
            break
        folder.rmdir()


def test_a_name_that_is_none_is_refused(tmp_path):
    """What no system takes for a name is refused in a sentence."""
    with pytest.raises(OutputError, match="cannot be written: embedded null byte"):
        write_file(tmp_path / "a\0b", b"")


def test_a_locked_folder_is_refused(locked):
    """A folder that may not be entered is told in a sentence, for a file in it and for a folder in it."""
    for path in (locked / "x.svg", locked / "sub" / "x.json"):
        with pytest.raises(OutputError, match="cannot be written: Permission denied"):
            write_file(path, b"")


def test_what_cannot_be_looked_at_is_told(locked):
    """Whether something is there is answered, or refused with the system's reason: never guessed."""
    for look in (is_there, is_folder):
        with pytest.raises(DataError, match="cannot be looked at: Permission denied"):
            look(locked / "x", DataError)
        with pytest.raises(StoreError, match="cannot be looked at: File name too long"):
            look(Path("x" * 300), StoreError)


def test_what_is_there_is_seen(tmp_path):
    """A file is there and is no folder; a folder is both; nothing is neither."""
    path = write_file(tmp_path / "file.txt", b"")
    assert is_there(path, DataError)
    assert not is_folder(path, DataError)
    assert is_folder(tmp_path, DataError)
    assert not is_there(tmp_path / "nothing", DataError)


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
    for place, why in ((tmp_path, "is a folder"), (old / "x", "Not a directory"), (tmp_path / ("x" * 300), "too long")):
        with pytest.raises(OutputError, match=why):
            require_file_place(place)
    assert old.read_text() == "old"
    assert not (tmp_path / "a").exists()


def test_a_place_for_a_folder(tmp_path):
    """A folder, and a name that is free, are places for a folder; a file and what lies below it are not."""
    (tmp_path / "old").write_text("old")
    for place in (tmp_path, tmp_path / "a" / "b"):
        require_folder_place(place)
    for place, why in ((tmp_path / "old", "is a file"), (tmp_path / "old" / "x", "Not a directory")):
        with pytest.raises(OutputError, match=why):
            require_folder_place(place)
    assert not (tmp_path / "a").exists()
