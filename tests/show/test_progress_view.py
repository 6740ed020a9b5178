"""Progress: a line at milestones and every few seconds in a pipe, and nothing on stdout."""

from keyhole.progress import Progress
from keyhole.show.progress_view import EVERY, line_watch, view_progress


def test_lines_come_at_milestones_and_every_few_seconds():
    """Steps between are left out; the count is there where it is known."""
    written, now = [], 0.0
    watch = line_watch(written.append, clock=lambda: now)
    watch(Progress(1, 10, "runs"))
    watch(Progress(2, 10, "runs", milestone=True))
    now = EVERY
    watch(Progress(3, None, "runs"))
    watch(Progress(4, 10, "runs"))
    assert written == ["keyhole: runs: 2 of 10", "keyhole: runs"]


def test_stdout_stays_alone(capsys):
    """What a pipe is told is on stderr; a closed stderr is no trouble."""
    with view_progress("working") as watch:
        watch(Progress(1, 2, "working", milestone=True))
    assert capsys.readouterr() == ("", "keyhole: working: 1 of 2\n")
