"""Nothing is silent for long: in a pipe every command that may take long says that it is at work."""

import re
import time
from contextlib import contextmanager

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.show import progress_view


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("compile parity:9 --context 100", "compiling"),
        ("check m.safetensors", "checking"),
        ("describe majority:9", "describing"),
        ("bound and:3 --context 100 --samples 1e6", "bounding"),
        ("fit d.csv --sparsity 2", "searching"),
        ("exchangeable s.npy", "reordering"),
        ("norms x1&x2", "searching"),
    ],
)
def test_work_in_a_pipe_says_that_it_goes_on(words, at, tmp_path, monkeypatch):
    """A line on stderr that names the work, after the seconds that may be silent; the answer stays alone on stdout."""
    monkeypatch.chdir(tmp_path)
    inputs = np.random.default_rng(0).integers(0, 2, (40, 12))
    np.savetxt("d.csv", np.c_[inputs, inputs[:, 1]], fmt="%d", delimiter=",")
    np.save("s.npy", inputs)
    assert CliRunner().invoke(app, ["compile", "parity:9", "--context", "200", "--out", "m.safetensors"]).exit_code == 0
    lines = progress_view.line_view

    @contextmanager
    def held(*arguments, **options):
        """As it is, and the work ends only when a line had the time to be written."""
        with lines(*arguments, **options) as watch:
            yield watch
            time.sleep(0.2)

    monkeypatch.setattr(progress_view, "SILENT", 1e-3)
    monkeypatch.setattr(progress_view, "line_view", held)
    answer = CliRunner().invoke(app, words.split())
    assert answer.exit_code in (0, 1), answer.stderr
    assert re.search(rf"keyhole: {at}( \(\w+\))?; at work for 0:00:0", answer.stderr)
    assert "at work" not in answer.stdout
