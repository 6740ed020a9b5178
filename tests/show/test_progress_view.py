"""Progress as it is shown: lines in a pipe, a bar or a table on a terminal."""

import io
import sys
import time

import pytest
from rich.console import Console

from keyhole.progress import Progress
from keyhole.show import progress_view
from keyhole.show.progress_view import EVERY, Pace, line, line_view, line_watch, picture, view_progress
from keyhole.sweeps.thresholds.sweeps import Standing, SweepState


def test_a_pipe_gets_milestones_and_a_line_now_and_then():
    """A milestone is written at once, other steps only when nothing was written for a few seconds."""
    now, written = 0.0, []
    watch = line_watch(written.append, clock=lambda: now)
    for now, milestone in [(0.0, True), (1.0, False), (EVERY - 1, False), (EVERY, False), (EVERY + 1, False),
                           (EVERY + 2, True), (2 * EVERY, False), (2 * EVERY + 2, False)]:  # fmt: skip
        watch(Progress(int(now), 20, "runs", milestone=milestone))
    assert written == [
        "keyhole: runs: 0 of 20",
        "keyhole: runs: 5 of 20, about 0:00:15 left",
        "keyhole: runs: 7 of 20, about 0:00:13 left",
        "keyhole: runs: 12 of 20, about 0:00:08 left",
    ]


def test_the_time_left_follows_from_the_steps_of_the_present_count():
    """Steps that were done before, or belong to a count before this one, do not make the work look faster."""
    now = 0.0
    pace = Pace(lambda: now)
    assert pace.left(Progress(10, 20, "found done")) is None
    now = 4.0
    assert pace.left(Progress(12, 20, "made")) == pytest.approx(16.0)
    assert pace.left(Progress(0, 20, "another count")) is None
    now = 6.0
    assert pace.left(Progress(1, 20, "another count")) == pytest.approx(38.0)
    assert pace.left(Progress(2, 20, "it says so itself", 3.0)) == 3.0
    assert pace.left(Progress(3, None, "nobody knows")) is None


def test_quick_work_is_silent(capsys):
    """Steps that end within a few seconds write nothing where stderr is no terminal."""
    with view_progress("contexts") as watch:
        for done in range(1, 4):
            watch(Progress(done, 3, "contexts"))
    assert capsys.readouterr() == ("", "")


def test_a_milestone_goes_to_stderr_as_it_is(capsys):
    """Long lines are not folded, and no markup is read."""
    words = "starting [bold]2[/bold] workers " * 9
    with view_progress("starting") as watch:
        watch(Progress(0, None, words, milestone=True))
    assert capsys.readouterr() == ("", f"keyhole: {words}\n")


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(0, None, "starting"), "starting"),
        (Progress(1200, 3600, "runs"), "runs: 1,200 of 3,600"),
        (Progress(3, 9, "runs", 75.4), "runs: 3 of 9, about 0:01:15 left"),
        (Progress(9, 9, "runs", 0.0), "runs: 9 of 9"),
    ],
)
def test_lines(progress, words):
    """What is done, of how many where that is known, and the time left where it is above half a second."""
    assert line(progress, progress.seconds_left) == words


def shown(progress):
    """The picture of a step on a terminal of 80 columns."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    console.print(picture(progress, progress.seconds_left))
    return console.file.getvalue().splitlines()


def test_the_live_table_fits_a_terminal():
    """A row per context with its bar, and the time left, within 80 columns."""
    standings = (Standing(25, 30, 2, None, 4, 12, 40, 0.5), Standing(800, 400, 0, None, 0, 0, 0, 2.0))
    lines = shown(SweepState(standings, 100, 2).progress("runs"))
    assert all(len(text.rstrip()) <= 80 for text in lines)
    assert lines[0].split("  ")[-1].strip() == "this round"
    assert "not fitted" in lines[0]
    assert lines[1].split()[-3:] == ["4", "of", "12"]
    assert lines[2].split()[:5] == ["800", "–", "400", "0", "done"]
    assert "100 runs made; about 0:00:12 left" in lines[3]


def test_a_bar_tells_the_time_left():
    """Beside the steps done; without a total there is neither number nor time."""
    (text,) = shown(Progress(5, 10, "contexts", 10.0))
    assert text.split()[0] == "contexts"
    assert text.split()[-2:] == ["5/10", "0:00:10"]
    (text,) = shown(Progress(0, None, "starting"))
    assert "0:0" not in text


def test_a_terminal_is_cleared_when_the_work_ends(monkeypatch):
    """What was drawn is taken away, also where the work fails."""
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, width=80)
    monkeypatch.setattr(progress_view, "Console", lambda **_options: terminal)
    with pytest.raises(ZeroDivisionError), view_progress("looking") as watch:
        watch(Progress(1, 2, "sharpness")) or 1 / 0
    assert "sharpness" in file.getvalue()
    assert file.getvalue().rstrip().endswith("\x1b[2K")  # erases the line


def test_work_goes_on_where_nobody_reads_its_lines(monkeypatch):
    """A closed pipe behind stderr costs the lines, and not the work."""

    class Closed(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with view_progress("working") as watch:
        watch(Progress(1, 2, "half", milestone=True))


def test_silent_work_is_said_to_go_on():
    """In a pipe, after so many silent seconds, a line says what the work is at; when it ends, so do the lines."""
    written = []
    with line_view("compiling", written.append, silent=0.01) as watch:
        wait_for(lambda: written)
        assert written[0] == "keyhole: compiling; at work for 0:00:00"
        watch(Progress(1, 2, "proving"))
        wait_for(lambda: written[-1].startswith("keyhole: proving; at work for "))
    count = len(written)
    time.sleep(0.05)
    assert len(written) == count


def test_work_that_speaks_is_left_alone():
    """Where steps are told often enough, no line is added to theirs."""
    written = []
    with line_view("working", written.append, silent=30) as watch:
        watch(Progress(1, 2, "a step", milestone=True))
    assert written == ["keyhole: a step: 1 of 2"]


def wait_for(met, seconds=20):
    """Wait until a condition is met."""
    until = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < until
        time.sleep(0.001)
