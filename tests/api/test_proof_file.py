"""Answers write certificates, and `check` decides them."""

import hashlib

import numpy as np
import pytest
from typer.testing import CliRunner

import keyhole
from keyhole.api.proof_file import check_certificate, is_certificate
from keyhole.api.prove import Effort
from keyhole.cli.app import app
from keyhole.errors import OutputError
from keyhole.prover.keyhole_check import Refused, check_text, compare

from helpers.random_models import Plan, random_model

pytestmark = pytest.mark.slow


def test_a_compiled_function(tmp_path):
    """Through the command line, and back."""
    file = tmp_path / "and.cert"
    run = CliRunner().invoke(app, ["compile", "x3 & x17", "--context", "1000000", "--out", str(file)])
    assert run.exit_code == 0
    checked = check_certificate(file)
    assert is_certificate(file)
    assert not checked.answer_is_no
    assert checked.parts[0].margin == pytest.approx(keyhole.compile("x3 & x17", 1_000_000).margin, abs=1e-9)
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0
    file.write_text(file.read_text().replace("answers 0", "answers 1"))
    run = CliRunner().invoke(app, ["check", str(file)])
    assert run.exit_code == 1
    assert "line" in run.stdout


def test_a_proof_of_a_file_names_its_digest_and_tensors(tmp_path):
    """The weights beside a certificate are compared, exactly."""
    model, file = tmp_path / "and.safetensors", tmp_path / "and.cert"
    keyhole.compile("x1 & ~x4", 6).save(tmp_path / "compiled.safetensors")
    keyhole.prove(tmp_path / "compiled.safetensors").save(model)  # as tables
    keyhole.prove(model).save(file)
    ((verdict, check, _, _),) = check_text(file.read_text())
    assert verdict == "PROVED"
    assert check.weights == hashlib.sha256(model.read_bytes()).hexdigest()
    assert compare(check, str(model)) >= 1
    with pytest.raises(Refused, match="digest"):
        compare(check, str(tmp_path / "compiled.safetensors"))


def test_a_wrong_input_and_a_claim(tmp_path):
    """A claim of one length is proved in one file, and a false one refuted in another."""
    model = tmp_path / "maj.safetensors"
    keyhole.compile("maj(x0, x1, x2)", 3).save(model)
    for claim, verdict in (("majority", "PROVED"), ("first is 1", "WRONG")):
        file = tmp_path / f"{verdict}.cert"
        keyhole.prove_claim(str(model), claim, store=tmp_path).save(file)
        assert [part.verdict for part in check_certificate(file).parts] == [verdict]


def test_nothing_proved_is_no_certificate(tmp_path):
    """A model that computes no function of few positions."""
    proof = keyhole.prove(random_model(Plan(seed=0, tokens=9)), effort=Effort(0.1, 1000))
    if proof.status == "UNDECIDED":
        with pytest.raises(OutputError, match="no certificate"):
            proof.save(tmp_path / "none.cert")
    else:
        proof.save(tmp_path / "some.cert")
        assert np.isfinite(check_certificate(tmp_path / "some.cert").parts[0].margin)
