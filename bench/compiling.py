"""What a new context costs before its first run: CPU seconds of compiling, in one process with nothing compiled before.

The first run at a context is made twice; what it takes beyond its repetition is compiling. The first context pays for
the programs that all contexts share, too. Run it with `python bench/compiling.py`: about half a minute.
"""

import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
    os.environ[name] = "1"
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # nothing is read from what was compiled before

from keyhole.sweeps.runs import RunSpec
from keyhole.sweeps.runs.run import run
from keyhole.training import SparseTask
from keyhole.training.learners import transformer_with_preset

CONTEXTS = (25, 50, 100, 400)
SAMPLES = 100


def seconds(context: int) -> float:
    """CPU seconds of a run."""
    began = time.process_time()
    run(RunSpec(SparseTask("and:3"), transformer_with_preset("default"), context, SAMPLES, 0))
    return time.process_time() - began


def main() -> None:
    """Print a line for each context."""
    print(f"{'T':>6}  compiling  the run, in CPU s")
    for context in CONTEXTS:
        first, again = seconds(context), seconds(context)
        print(f"{context:>6} {first - again:>10.2f} {again:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
