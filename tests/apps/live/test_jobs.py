"""Long work: one job runs, others wait; a cancelled one ends; a page that comes back misses no line."""

import asyncio
import time

import pytest

from keyhole.apps.live.events import job_events
from keyhole.apps.live.jobs import KEPT, Jobs
from keyhole.errors import ArgumentError

from helpers.tiny_gpt2 import write_gpt2


@pytest.fixture
def jobs(tmp_path):
    """A queue that is closed at the end."""
    queue = Jobs(tmp_path)
    yield queue
    queue.close()


def ended(job, seconds=60):
    """The job when it has ended."""
    until = time.time() + seconds
    while job.ended is None and time.time() < until:
        time.sleep(0.05)
    return job


def heard(job, after=0):
    """The events of a job from a number on."""

    async def collect():
        return [event async for event in job_events(job, after)]

    return asyncio.run(collect())


@pytest.mark.slow
def test_a_job_runs_and_its_lines_are_heard_once(jobs):
    """A page that reconnects hears what came after the last event it saw, and the end."""
    job = ended(jobs.add("version", ["describe", "x1 & x2"]))
    assert job.state == "done"
    lines = heard(job)
    assert "x1 & x2" in lines[0]
    assert "event: end" in lines[-1]
    assert heard(job, after=2) == lines[2:]


@pytest.mark.slow
def test_a_job_that_fails_says_so(jobs):
    """A command that is refused ends as failed, and its sentence is in the log."""
    job = ended(jobs.add("bad", ["describe", "x1 &"]))
    assert job.state == "failed"
    assert "keyhole" in heard(job)[0]


@pytest.mark.slow
def test_jobs_wait_for_each_other_and_can_be_cancelled(jobs, tmp_path):
    """The second job waits; both can be cancelled, and the queue has an end."""
    words = ["learn", "and:3", "--context", "400", "--store", str(tmp_path / "store")]
    first = jobs.add("first", words)
    until = time.time() + 30
    while first.state != "running" and time.time() < until:
        time.sleep(0.02)
    others = [jobs.add(f"job {number}", words) for number in range(3)]
    assert first.state == "running"
    assert {job.state for job in others} == {"waiting"}
    for job in jobs.all():
        jobs.cancel(job.number)
    assert ended(first, 30).state == "cancelled"
    assert {job.state for job in others} == {"cancelled"}


@pytest.mark.slow
def test_a_job_that_cannot_be_started_fails_and_the_next_one_runs(jobs, tmp_path):
    """Where the log cannot be written the job ends as failed, and the queue goes on."""
    job = jobs.add("lost", ["describe", "x1"])
    job.log = tmp_path / "gone" / "log"  # read when the queue comes to it, or not at all
    lost = jobs.add("lost for certain", ["describe", "x1"])
    lost.log = tmp_path / "gone" / "log"
    last = jobs.add("last", ["describe", "x1"])
    assert ended(lost).state == "failed"
    assert ended(last).state == "done"


@pytest.fixture
def limited(tmp_path):
    """Make a queue with other limits; it is closed at the end."""
    made = []

    def make(**limits):
        made.append(Jobs(tmp_path, **limits))
        return made[-1]

    yield make
    for queue in made:
        queue.close()


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_ended(limited, tmp_path):
    """After the limit of time a job ends as failed, and its log says why."""
    words = ["learn", "and:3", "--context", "400", "--store", str(tmp_path / "store")]
    job = ended(limited(seconds=0.3).add("long", words), 30)
    assert job.state == "failed"
    assert "the limit of the lab" in job.log.read_text()


@pytest.mark.slow
def test_a_job_that_takes_too_much_memory_fails(limited):
    """Under a limit that holds no interpreter a job fails, where the system can limit it."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("this system limits no process from outside")
    assert ended(limited(memory=2**24).add("large", ["describe", "x1"])).state == "failed"


@pytest.mark.slow
def test_an_answer_may_have_another_exit_code(jobs, tmp_path):
    """A wrong word is an answer of `prove`: its job is done, and each length is a line of its log."""
    write_gpt2(tmp_path / "model", seed=3, width=4, scale=0.05)
    words = ["prove", "--claim=at least 0 of 1", "--lengths=3,4", "--read-at=SEP", "--samples=10", "--time-limit=0.2"]
    words += ["--rows", "--store", str(tmp_path / "store"), "--", str(tmp_path / "model")]
    wrong = ended(jobs.add("wrong", words, answered=(0, 1)))
    assert wrong.state == "done"
    assert sum('{\\"length\\"' in event for event in heard(wrong)) == 2


def test_logs_do_not_pile_up(limited, tmp_path):
    """Logs that earlier servers left are removed but for the newest; those of jobs that can be asked for stay."""
    for number in range(KEPT + 40):
        (tmp_path / f"20200101-000000-1-{number:03}.log").write_text("old")
    queue = limited()
    job = queue.add("new", ["describe", "x1"])
    left = sorted(path.name for path in tmp_path.glob("2020*.log"))
    assert len(left) == KEPT
    assert left[-1].endswith(f"-{KEPT + 39:03}.log")
    ended(job)
    assert job.log.exists()


def test_the_log_of_a_forgotten_job_is_removed(limited):
    """When a job is too old to be asked for, its log goes with it."""
    queue = limited()
    queue.close()  # nothing is started: jobs are ended by hand
    jobs = []
    for number in range(KEPT + 2):
        jobs.append(queue.add(f"job {number}", ["describe", "x1"]))
        jobs[-1].log.write_text("x")
        queue.cancel(jobs[-1].number)
    with pytest.raises(ArgumentError):
        queue.find(jobs[0].number)
    assert not jobs[0].log.exists()
    assert jobs[-1].log.exists()


def test_no_such_job(jobs):
    """A number that no job has is refused."""
    with pytest.raises(ArgumentError, match="Job 7 does not exist"):
        jobs.find(7)
