"""Runs: what decides one, how it is executed, and the store that keeps it."""

from keyhole.lab.runs.engine import Lane as Lane
from keyhole.lab.runs.engine import borrow as borrow
from keyhole.lab.runs.engine import core_count as core_count
from keyhole.lab.runs.engine import require_cores as require_cores
from keyhole.lab.runs.engine import spawn_pool as spawn_pool
from keyhole.lab.runs.engine import start_processes as start_processes
from keyhole.lab.runs.engine import worker_environment as worker_environment
from keyhole.lab.runs.gather import gather_runs as gather_runs
from keyhole.lab.runs.gather import gather_weights as gather_weights
from keyhole.lab.runs.run import FRESH as FRESH
from keyhole.lab.runs.run import SUCCESS as SUCCESS
from keyhole.lab.runs.run import MakesRuns as MakesRuns
from keyhole.lab.runs.run import RunResult as RunResult
from keyhole.lab.runs.run import data_of as data_of
from keyhole.lab.runs.run import digest as digest
from keyhole.lab.runs.run import require_learnable as require_learnable
from keyhole.lab.runs.spec import RunSpec as RunSpec
from keyhole.lab.runs.store import RunSummary as RunSummary
from keyhole.lab.runs.store import Store as Store
from keyhole.lab.runs.store import StoredRun as StoredRun
from keyhole.lab.runs.weights import weights_of as weights_of
from keyhole.lab.runs.worker import make_run as make_run
