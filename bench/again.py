"""The runs of a store made again, in an empty store with nothing compiled: CPU seconds, and how many end as they did.

Two releases that end a sweep by different rules make different numbers of runs. What a run costs is compared on the
same runs: sweep with the one, then make those runs again with the other, on the same quiet machine.

    OTHER/.venv/bin/keyhole learn and:3 --context 25..800 --store other
    python bench/again.py other                 about as long as that sweep
    python bench/again.py other --context 25    only the runs at this context
"""

import argparse
import os
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

from keyhole.lab.runs import RunSpec, Store, core_count, gather_runs


def cpu_seconds() -> float:
    """What this process has taken so far, with those it started that have ended."""
    own, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime


def main() -> None:
    """Print a line a context, and the CPU seconds of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path, help="a folder that keyhole keeps runs in")
    parser.add_argument("--context", type=int, nargs="*", default=[], help="only runs at these contexts")
    parser.add_argument("--workers", type=int, default=core_count())
    asked = parser.parse_args()
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # nothing is read from what was compiled before
    with Store(asked.store, create=False) as store:
        before = store.rows(contexts=asked.context)
        configurations = store.configurations([row.identity for row in before])
    specs = [RunSpec.from_record(configurations[row.identity]) for row in before]
    with TemporaryDirectory() as folder, Store(Path(folder)) as store:
        again = gather_runs(specs, store, workers=asked.workers)
    pairs = list(zip(before, again, strict=True))
    for context in sorted({row.context for row in before}):
        here = [(old, new) for old, new in pairs if old.context == context]
        same = sum(old.success == new.success for old, new in here)
        equal = sum((old.accuracy, old.steps) == (new.accuracy, new.steps) for old, new in here)
        print(f"T = {context:>6,}: {len(here):>4} runs, {same} end as they did, {equal} with equal accuracy and steps")
    print(f"{len(pairs)} runs again, with everything compiled anew: {cpu_seconds():.1f} CPU seconds")


if __name__ == "__main__":
    main()
