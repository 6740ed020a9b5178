"""A measurement that says which process it is in, and never ends: for tests of what happens when it is given up."""

import os
import time
from pathlib import Path


def measure(name, scale, seed):  # noqa: ARG001  (as every measurement)
    """Leave a file named by the process, and sleep."""
    (Path(os.environ["KEYHOLE_TEST_SLEEPERS"]) / str(os.getpid())).touch()
    time.sleep(600)
