"""Runs: what decides one, how it is executed, and the store that keeps it."""

from keyhole.sweeps.runs.queue import Execution as Execution
from keyhole.sweeps.runs.queue import gather_runs as gather_runs
from keyhole.sweeps.runs.queue import weights_of as weights_of
from keyhole.sweeps.runs.run import FRESH as FRESH
from keyhole.sweeps.runs.run import SUCCESS as SUCCESS
from keyhole.sweeps.runs.run import RunResult as RunResult
from keyhole.sweeps.runs.run import RunSpec as RunSpec
from keyhole.sweeps.runs.run import data_of as data_of
from keyhole.sweeps.runs.run import digest as digest
from keyhole.sweeps.runs.run import require_learnable as require_learnable
from keyhole.sweeps.runs.store import RunSummary as RunSummary
from keyhole.sweeps.runs.store import Store as Store
from keyhole.sweeps.runs.workers import WorkerPool as WorkerPool
from keyhole.sweeps.runs.workers import core_count as core_count
from keyhole.sweeps.runs.workers import make_run as make_run
from keyhole.sweeps.runs.workers import require_cores as require_cores
