"""Whether a run fits into memory, asked before anything is drawn."""

import os
from collections.abc import Iterable
from pathlib import Path

from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.training import ProblemSize

TWO = 2  # symbols, where a task does not say how many it has


def run_bytes(spec: RunSpec) -> int:
    """Return the bytes that a run takes, as its learner counts them."""
    symbols = int(getattr(spec.task, "symbols", TWO))
    return spec.learner.memory(ProblemSize(spec.context, symbols, 0), spec.samples)


def available_bytes() -> int | None:
    """The memory nobody uses yet, and this process may have; None where the system does not say."""
    limits = [*_kernel(), *_container()]
    return min(limits) if limits else None


def refuse_beyond_memory(specs: Iterable[RunSpec], workers: int) -> None:
    """Refuse the first run that, made by every worker at once, exceeds the memory there is."""
    there = available_bytes()
    for spec in specs:
        needed = run_bytes(spec) * workers
        if there is not None and needed > there:
            raise ArgumentError(
                f"Runs of {spec.learner.name} {_on(spec.samples)} at T = {spec.context} take {needed / 1e9:.3g} GB for "
                f"{workers} at once, and {there / 1e9:.3g} GB are free. Use fewer workers, or smaller samples or "
                "contexts."
            )


def _on(samples: int | None) -> str:
    return "on fresh samples" if samples is None else f"with m = {samples}"


def _kernel() -> list[int]:
    """The kernel's own account, or else the pages it calls available."""
    try:
        lines = Path("/proc/meminfo").read_text("utf8").splitlines()
        return [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        try:
            return [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
        except (ValueError, OSError):
            return []


def _container() -> list[int]:
    """What the container's limit leaves, where there is one."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text("utf8").strip() for name in ("memory.max", "memory.current"))
        return [max(0, int(limit) - int(used))] if limit.isdigit() else []
    except (OSError, ValueError):
        return []
