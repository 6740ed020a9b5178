"""Every public function, and some fields of what it returns: read by a strict type checker, and run by the suite."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import assert_type

import numpy as np

import keyhole
from keyhole.apps.heads.checkpoint_norms import CheckpointNorms, checkpoint_norms
from keyhole.apps.heads.head_data import Rows
from keyhole.apps.heads.heads import Heads, heads
from keyhole.apps.heads.order import ModelOrder, model_order
from keyhole.apps.ledger.reproduction import Claims, Findings, list_claims, reproduce
from keyhole.apps.pretrain.pretrain import Design, pretrain
from keyhole.apps.pretrain.pretraining import Pretraining
from keyhole.apps.tables.curve import Curve, curve
from keyhole.apps.tables.score import Scores, score
from keyhole.apps.tables.suites import Suite, make_suite
from keyhole.apps.tables.table import make_table
from keyhole.attention import Affine, StepHead, StepModel
from keyhole.checkpoints import load_checkpoint
from keyhole.errors import KeyholeError
from keyhole.files.norms import norms_template

ENCODER = {"in_proj_weight": (12, 4), "out_proj.weight": (4, 4)}


def use_functions_of_models(folder: Path) -> None:
    """Describe, compile, check, bound, prove, and a suite with scores."""
    facts = keyhole.describe("x3 & ~x5", context=16)
    assert_type(facts, keyhole.Description)
    degree: int = facts.degree
    assert_type(keyhole.explain("margin"), keyhole.Explanation)
    model = keyhole.compile("x3 & ~x5", 16)
    chain: keyhole.CompiledCircuit = keyhole.compile_circuit("a = x1 & x2; a ^ x3", 8, "steps", fan_in=2)
    assert_type(chain.gates, int)
    assert_type(model, keyhole.Compiled)
    margin: float = model.proof.margin
    file: Path = model.save(folder / "and.safetensors")
    read: str = keyhole.describe_file(file).formula
    checked = keyhole.check(file)
    assert_type(checked, keyhole.Checked)
    holds: bool = checked.holds
    guarantee = keyhole.bound(keyhole.file_norms(file), 1e6)
    assert_type(guarantee, keyhole.Bound)
    gap: float = guarantee.smallest.value
    assert_type(keyhole.bound_sparsities("and:s", [1, 2], 1e6, 50), keyhole.SparsityBounds)
    arrays = {f"blocks.0.attn.W_{name}": np.ones((2, 3, 3)) for name in "QKVO"}
    norms = checkpoint_norms(arrays)
    assert_type(norms, CheckpointNorms)
    largest: float = norms.heads[0].trained["qk-spectral"]
    encoder = {f"layers.0.self_attn.{name}": np.ones(shape) for name, shape in ENCODER.items()}
    described = {"nhead": 2, "norm_first": True, "causal": True}
    found = heads(load_checkpoint(encoder, config=described), Rows(np.ones((1, 3, 4))), controls=False)
    assert_type(found, Heads)
    rule: str = found.heads[0].verdict
    moved = model_order(load_checkpoint(encoder, config=described), Rows(np.ones((1, 3, 4))))
    assert_type(moved, ModelOrder)
    order: str = moved.verdict
    least = keyhole.norms("x3 & ~x5")
    assert_type(least, keyhole.Norms)
    bound: float = least.functions[0].any_bound
    certificate = keyhole.prove(file)
    assert_type(certificate, keyhole.Proof)
    with suppress(keyhole.KeyholeError):  # there is no such run
        assert_type(keyhole.read_run("ffff", folder / "store"), keyhole.TrainedRun)
    status: str = certificate.status
    verified = keyhole.prove_claim(file, "x3 & ~x5", effort=keyhole.Effort(samples=100), store=folder / "store")
    assert_type(verified, keyhole.ClaimProof)
    proved: float | None = verified.lengths[0].margin
    suite = make_suite(1, 12)
    assert_type(suite, Suite)
    key: Path = suite.save(folder / "suite")
    np.save(folder / "suite" / "model-000.npy", np.ones((2, 12)))
    scores = score(key, folder / "suite")
    assert_type(scores, Scores)
    auc: float = scores.mean["auc"]
    print(degree, margin, read, holds, gap, rule, status, auc, largest, bound, proved, rule, order)  # noqa: T201


def use_step_models() -> None:
    """A model that answers step by step, of arrays alone."""
    same = (Affine(np.eye(2)),)
    copier = StepModel(np.stack([np.eye(2)] * 2), (), (StepHead(same, same, same, same),), (), same)
    proof = keyhole.prove_steps(copier, "copy:1:2")
    assert_type(proof, keyhole.StepProof)
    margin: float | None = proof.margin
    print(proof.status, margin)  # noqa: T201


def use_sources_of_norms(folder: Path) -> None:
    """Norms of a file, and of a run."""
    edited = folder / "norms.json"
    edited.write_text(norms_template(), "utf8")
    given: keyhole.NormSource = keyhole.json_norms(edited)
    with suppress(KeyholeError):
        given = keyhole.run_norms("ffffffff", folder / "no-store")
    print(given.context)  # noqa: T201


def use_functions_of_data(folder: Path) -> None:
    """Learn, runs, infer, exchangeable, claims."""
    here, there = (keyhole.Execution(folder / name, workers=0) for name in ("store", "other"))
    answer = keyhole.learn(
        "and:2", [8], "elimination", schedule=keyhole.Schedule(samples=[40], seeds=2), execution=here
    )
    assert_type(answer, keyhole.SampleComplexity)
    planned = keyhole.run_plan(answer.plan, make=False, execution=here)
    assert_type(planned, keyhole.PlanResult)
    runs = keyhole.runs(store=folder / "store")
    assert_type(runs, keyhole.Runs)
    run = keyhole.show_run(runs.runs[0].identity, store=folder / "store")
    assert_type(run, keyhole.RunInFull)
    accuracy: float = run.result.accuracy
    bounds = keyhole.bound_runs(folder / "store")
    assert_type(bounds, keyhole.RunBounds)
    keyhole.learn("and:2", [8], "elimination", schedule=keyhole.Schedule(samples=[40], seeds=1), execution=there)
    compared = keyhole.compare_runs(folder / "other", store=folder / "store")
    assert_type(compared, keyhole.RunComparison)
    assert compared.agree
    learned = curve(make_table(np.eye(30), np.arange(30) % 2), ["sklearn:tree"], splits=2)
    assert_type(learned, Curve)
    small: dict[str, str | float | None] = {"heads": 1, "width": 4, "hidden": 4, "steps": 2, "every": 2}
    trained = keyhole.train("and:2", 6, 10, settings=small, store=folder / "store")
    assert_type(trained, keyhole.Trained)
    loss: float = trained.frames[0].readings["loss"]
    inference = keyhole.infer("gaussian", [4, 8], repeats=4)
    assert_type(inference, keyhole.Inference)
    pretraining = pretrain("finite", [4], design=Design(repeats=0))
    assert_type(pretraining, Pretraining)
    condition: float = pretraining.conditions[0].downstream
    tokens = np.random.default_rng(0).integers(0, 2, (20, 6))
    fitted = keyhole.fit((tokens, tokens[:, 1]), sparsity=1)
    assert_type(fitted, keyhole.Fit)
    rows: int = fitted.rows
    exchangeability = keyhole.exchangeable(tokens)
    assert_type(exchangeability, keyhole.Exchangeability)
    sentence: str = exchangeability.answer
    claims = list_claims()
    assert_type(claims, Claims)
    title: str = claims.claims[0].title
    findings = reproduce(["sharpness"], folder=folder / "report", workers=1)
    assert_type(findings, Findings)
    verdict: str = findings["sharpness"].outcome.verdict
    records: Sequence[dict[str, object]] = [
        each.record()
        for each in (
            answer,
            runs,
            run,
            trained,
            inference,
            pretraining,
            exchangeability,
            claims,
            findings,
        )
    ]
    print(len(records), accuracy, loss, condition, rows, sentence, title, verdict)  # noqa: T201


if __name__ == "__main__":
    use_functions_of_models(Path(sys.argv[1]))
    use_step_models()
    use_sources_of_norms(Path(sys.argv[1]))
    use_functions_of_data(Path(sys.argv[1]))
