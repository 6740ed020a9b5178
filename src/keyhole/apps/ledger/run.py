"""Running experiments: each once, kept as it finishes, so that a second run finds it done."""

import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from pathlib import Path

from keyhole.apps.ledger.finding import Experiment, Finding, Scale, run_name
from keyhole.apps.ledger.ledger import choose, experiments, find
from keyhole.apps.ledger.stored_finding import finding_bytes, read_finding
from keyhole.errors import DataError, OutputError
from keyhole.files.atomic import write_file
from keyhole.files.reading import versions
from keyhole.progress import Progress, Watch, ignore
from keyhole.sweeps.runs import core_count, require_cores

HEARTBEAT = 15.0  # seconds after which the experiments under way are named, where none has finished
PACKAGES = (
    "numpy",
    "array_api_compat",
    "scipy",
    "jax",
    "optax",
    "scikit-learn",
    "python-flint",
)  # whose versions count

Warn = Callable[[str], None]
ReportRunning = Callable[[Sequence[str]], None]


def run_experiments(
    only: Sequence[str],
    *,
    scale: Scale,
    seed: int,
    folder: Path,
    workers: int | None = None,
    watch: Watch = ignore,
    warn: Warn = lambda _: None,
    progress: Callable[[Mapping[str, Finding], int], None] = lambda _findings, _expected: None,
) -> dict[str, Finding]:
    """Every finding that the folder holds at this scale and seed, once it has those of the chosen claims, by claim.

    Claims come in the ledger's order. A finding that is in the folder is not measured again, unless its file was changed
    or cannot be read: then `warn` is called with a sentence that says so. A claim that is not measured here, for want of
    a model, is not kept: it is looked at again each time. `progress` is given the findings so far, and how many there
    will be. `workers` are processes, one per core where None is given.
    """
    chosen = [experiment.claim.id for experiment in choose(only)]
    findings: dict[str, Finding] = {}
    for experiment in experiments():
        finding = load(experiment, scale, seed, folder, warn=warn, again=experiment.claim.id in chosen)
        if finding is not None:
            findings[finding.claim.id] = finding
    done = [name for name in chosen if name in findings]
    for number, name in enumerate(done, 1):
        watch(Progress(number, len(chosen), name, detail="found"))
    missing = [experiment for experiment in choose(only) if experiment.claim.id not in findings]

    def name_those_under_way(names: Sequence[str]) -> None:
        watch(Progress(len(done), len(chosen), f"looking at {', '.join(names)}"))

    count = require_cores(workers) if workers is not None else core_count() if missing else 1
    if missing:
        words = f"claims (to be measured: {len(missing)}, processes: {min(count, len(missing))})"
        watch(Progress(len(done), len(chosen), words, milestone=True))
    for finding in _run(missing, scale, seed, count, name_those_under_way):
        name = finding.claim.id
        findings[name] = finding
        done.append(name)
        if finding.outcome.verdict != "not measured here":  # what is absent now may be there the next time
            write_file(path_of(find(name), scale, seed, folder), finding_bytes(finding))
        words = f"claims ({name}: {finding.outcome.verdict})"
        watch(Progress(len(done), len(chosen), words, detail="measured", milestone=True))
        progress(findings, len(findings) + len(chosen) - len(done))
    return {name: findings[name] for experiment in experiments() if (name := experiment.claim.id) in findings}


def run_experiment(experiment: Experiment, scale: Scale, seed: int) -> Finding:
    """Measure one claim now."""
    claim = experiment.claim
    began = time.perf_counter()
    outcome = experiment.measure(scale, seed)
    seconds = time.perf_counter() - began
    computed = {**versions(PACKAGES), **commit(), "machine": platform.machine()}
    name = run_name(claim, scale, seed)
    return Finding(claim, outcome, name, scale, seed, seconds, computed, experiment.origin)


def run_named(name: str, scale: Scale, seed: int) -> Finding:
    """Measure a claim of the library by its id, which another process is sent in place of the function."""
    return run_experiment(find(name), scale, seed)


@cache
def commit() -> dict[str, str]:
    """Return the commit of keyhole's checkout, with a + if files differ from it; nothing if it is not a checkout."""
    root = Path(__file__).parents[4]
    if not (root / ".git").exists():
        return {}
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": answer.stdout.strip()}


def _run(
    missing: Sequence[Experiment],
    scale: Scale,
    seed: int,
    workers: int,
    report_running: ReportRunning,
) -> Iterator[Finding]:
    """Findings as they finish; `report_running` is given the names of those under way.

    The library's claims are measured in spawned processes where there are several, a user's own always in this one:
    a spawned process has not registered them.
    """
    spawned = [experiment for experiment in missing if not experiment.origin]
    if len(spawned) < 2 or workers == 1:
        spawned = []
    for experiment in missing:
        if experiment not in spawned:
            report_running([experiment.claim.id])
            yield run_experiment(experiment, scale, seed)
    if spawned:
        yield from _run_in_processes(spawned, scale, seed, workers, report_running)


def _run_in_processes(
    spawned: Sequence[Experiment], scale: Scale, seed: int, workers: int, report_running: ReportRunning
) -> Iterator[Finding]:
    """Findings of spawned processes, which end when this one does, however it ends; one under way is given up."""
    from keyhole.files.atomic import home
    from keyhole.sweeps.runs import WorkerPool

    processes = min(workers, len(spawned))
    pool = WorkerPool(processes, home())
    waiting: dict[Future[Finding], Experiment] = {}
    try:
        waiting |= {pool.submit(run_named, each.claim.id, scale, seed): each for each in spawned}
        while waiting:
            finished, _ = wait(waiting, HEARTBEAT, FIRST_COMPLETED)
            for future in finished:
                del waiting[future]
                yield future.result()
            if not finished:
                begun = [experiment.claim.id for future, experiment in waiting.items() if future.running()]
                report_running(begun[:processes])  # the pool counts one more, which it holds ready
    finally:
        pool.stop()


def path_of(experiment: Experiment, scale: Scale, seed: int, folder: Path) -> Path:
    """Return where a finding is stored: under its claim, scale, seed and revision."""
    return folder / "findings" / f"{run_name(experiment.claim, scale, seed)}.json"


def load(
    experiment: Experiment, scale: Scale, seed: int, folder: Path, *, warn: Warn = lambda _: None, again: bool = True
) -> Finding | None:
    """Return the stored finding of a claim, or None; warn of one that cannot be read or is not as it was written.

    The warning says whether the claim is looked at `again` now.
    """
    claim, path = experiment.claim, path_of(experiment, scale, seed, folder)
    then = "the claim is looked at again" if again else "it is left off the page until it is looked at again"
    try:
        if path.exists() and not path.is_file():
            raise OutputError(f"{str(path)!r} stands where a finding is kept and is not a file; remove it.")
        finding = read_finding(claim, path.read_bytes(), origin=experiment.origin)
    except FileNotFoundError:
        return None
    except OSError as error:
        warn(f"The finding of {claim.id} in {str(path)!r} cannot be read ({error.strerror}); {then}.")
        return None
    except DataError:
        finding = None
    if finding is None or finding.run != run_name(claim, scale, seed):
        warn(f"The finding of {claim.id} in {str(path)!r} is not as it was written; {then}.")
        return None
    return finding
