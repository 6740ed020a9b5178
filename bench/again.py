"""The runs of a store made again, in an empty store with nothing compiled: CPU seconds, and how many end as they did.

Two releases that end a sweep by different rules make different numbers of runs. What a run costs is compared on the
same runs: sweep with the one, then make those runs again with the other, on the same quiet machine. A sweep also
chooses its sizes and compares laws, which takes some seconds that are not counted here. Runs that this version does not
make again, such as those of other numerics, are left out and counted.

    OTHER/.venv/bin/keyhole learn and:3 --context 25..800 --store other
    python bench/again.py other                 about as long as that sweep
    python bench/again.py other --context 25    only the runs at this context
"""

import argparse
import os
import resource
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from keyhole.errors import KeyholeError
from keyhole.sweeps import Execution
from keyhole.sweeps.runs import RunSpec, RunSummary, Store, core_count, gather_runs


def cpu_seconds() -> float:
    """What this process has taken so far, with those it started that have ended."""
    own, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime


def made_again(
    rows: list[RunSummary], configurations: dict[str, Mapping[str, Any]]
) -> tuple[list[RunSummary], list[RunSpec]]:
    """Those of the runs that this version makes again, with what is asked of each; the others are said."""
    specs: dict[str, RunSpec] = {}
    refused = ""
    for row in rows:
        try:
            specs[row.identity] = RunSpec.from_record(configurations[row.identity])
        except KeyholeError as error:
            refused = str(error)
    if refused:
        count = len(rows) - len(specs)
        print(f"left out: {count} run{'s' * (count != 1)} that this version does not make again ({refused})")
    return [row for row in rows if row.identity in specs], list(specs.values())


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
    before, specs = made_again(before, configurations)
    with TemporaryDirectory() as folder, Store(Path(folder)) as store:
        again = gather_runs(specs, store, Execution(folder, asked.workers))
    pairs = list(zip(before, again, strict=True))
    for context in sorted({row.context for row in before}):
        here = [(old, new) for old, new in pairs if old.context == context]
        same = sum(old.success == new.success for old, new in here)
        equal = sum((old.accuracy, old.steps) == (new.accuracy, new.steps) for old, new in here)
        print(f"T = {context:>6,}: {len(here):>4} runs, {same} end as they did, {equal} with equal accuracy and steps")
    print(f"{len(pairs)} runs again, with everything compiled anew: {cpu_seconds():.1f} CPU seconds")


if __name__ == "__main__":
    main()
