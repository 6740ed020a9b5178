"""What the command line can write, Python can write: a model with its certificate, or a module of PyTorch."""

import pytest

import keyhole
from keyhole.compiler import compiled as compiled_module
from keyhole.compiler.export.model_file import save_model
from keyhole.compiler.export.torch_source import torch_source
from keyhole.errors import OutputError


def test_the_ending_says_what_is_written(tmp_path):
    """A .safetensors file checks; a .py file is the module's text; any other ending is refused, and nothing written."""
    compiled = keyhole.compile("x1 & ~x4", 9)
    assert keyhole.check(save_model(compiled, tmp_path / "a.safetensors")).holds
    text = save_model(compiled, tmp_path / "a.py").read_text("utf8")
    assert text == torch_source(compiled.plan, compiled.proof)
    with pytest.raises(OutputError, match=r"none of \.safetensors and \.py"):
        save_model(compiled, tmp_path / "a.pt")
    assert not (tmp_path / "a.pt").exists()


def test_a_file_is_not_computed_again(tmp_path, monkeypatch):
    """Compiling proves once, and settles the formats once when they are asked for; saving computes nothing twice."""
    counts = dict.fromkeys(("prove", "judge_formats", "plan_profile", "logit_range", "named_norms"), 0)

    def count(name, function):
        def counted(*arguments):
            counts[name] += 1
            return function(*arguments)

        return counted

    for name in counts:
        monkeypatch.setattr(compiled_module, name, count(name, getattr(compiled_module, name)))
    compiled = keyhole.compile("x1 & ~x4", 9)
    assert (counts["prove"], counts["judge_formats"]) == (1, 0)
    assert compiled.record()["margin"] == compiled.proof.margin
    save_model(compiled, tmp_path / "a.safetensors")
    assert counts == dict.fromkeys(counts, 1)
