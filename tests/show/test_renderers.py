"""What renders answers computes nothing."""

import subprocess
import sys

import pytest

ALLOWED = {"decimals", "errors", "figure", "files", "papers", "progress", "show"}


@pytest.mark.parametrize("module", ["certificate", "check", "compiled", "derivation", "guarantee"])
def test_rendering_loads_no_numbers(module):
    """A fresh interpreter that imports the module has neither numpy nor a package that computes."""
    program = (
        f"import keyhole.show.{module}, sys\n"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('keyhole.')}, "
        "*{'numpy', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= ALLOWED
