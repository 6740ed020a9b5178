"""Long work: one job runs, others wait; a cancelled one ends; a page that comes back misses no line."""

import asyncio
import time

import pytest

from keyhole.errors import ArgumentError
from keyhole.serve.events import job_events
from keyhole.serve.jobs import Jobs
from keyhole.serve.limits import WAITING


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
    others = [jobs.add(f"job {number}", words) for number in range(WAITING)]
    assert first.state == "running"
    assert {job.state for job in others} == {"waiting"}
    with pytest.raises(ArgumentError, match="waiting already"):
        jobs.add("too many", words)
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


def test_no_such_job(jobs):
    """A number that no job has is refused."""
    with pytest.raises(ArgumentError, match="no job 7"):
        jobs.find(7)
