"""A head that was built to find the nearest point is found, above its controls; a treebank's answer is whole."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.controls import CONTROLS, controlled
from keyhole.apps.heads.head_annotation import Example, agreement, ranked
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.cli.app import app

from helpers import tiny_checkpoints as tiny

SETTINGS = {"nhead": 2, "norm_first": True, "causal": False}
KEYS = {  # golden: fields are only ever added
    "keyhole", "schema", "source", "architecture", "counting", "chosen_on", "scored_on", "pooling", "directions",
    "offsets", "maps", "least_pairs", "level", "resamples", "longest", "left_out", "controls", "seed", "relations",
    "rare",
}  # fmt: skip


def planted():
    """Points on a circle: the second of two heads has the score x · y, largest at the nearest other point."""
    packed = np.zeros((12, 4))
    packed[2:4, :2] = 5 * np.eye(2)  # queries of head 2
    packed[6:8, :2] = np.eye(2)  # keys of head 2
    packed[0, 0], packed[4, 1] = 1.0, 1.0  # head 1 looks at something else
    arrays = {"layers.0.self_attn.in_proj_weight": packed, "layers.0.self_attn.out_proj.weight": np.zeros((4, 4))}
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, size=(60, 8))
    points = np.stack([np.cos(angles), np.sin(angles), 0 * angles, 0 * angles], axis=-1)
    return arrays, points


def ranked_by(arrays, points):
    """The score of the one relation, to the nearest other point; chosen on the first half, scored on the second."""
    model = prepare(load_checkpoint(arrays, config=SETTINGS))

    def example(index):
        apart = ((points[index][:, None] - points[index][None]) ** 2).sum(axis=-1)
        np.fill_diagonal(apart, np.inf)
        return Example(model.embed_features(points[index]), np.arange(8), apart.argmin(axis=1), ("nearest",) * 8)

    agreements = {
        kind: [agreement(run, [8] * 30, lambda index, part=part: example(30 * part + index)) for part in (0, 1)]
        for kind, run in (("trained", model), *((kind, controlled(model, kind)) for kind in CONTROLS))
    }
    (score,), rare = ranked(agreements, model.checkpoint.sizes, np.full(30, 8), 0)
    assert rare == {}
    return score


def test_a_planted_head():
    """The planted head is chosen, agrees always in both parts, and is above chance, offsets and both controls."""
    score = ranked_by(*planted())
    assert (score.best.layer, score.best.head) == (0, 1)
    assert score.best.chosen == score.best.scored.value == score.best.scored.low == 1.0
    assert score.chance == pytest.approx(1 / 7)
    assert (score.chosen_pairs, score.scored_pairs) == (240, 240)
    assert score.offset_scored < 0.5
    assert score.over["chance"].low == pytest.approx(6 / 7)
    assert score.verdict == "above"


def test_points_without_their_head():
    """Where no head looks at the points, the best of all is not above the controls."""
    arrays, points = planted()
    arrays["layers.0.self_attn.in_proj_weight"][:, :2] = 0
    assert ranked_by(arrays, points).verdict != "above"


def run(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, ["checkpoint", "relations", *(str(argument) for argument in arguments)])


def test_refusals(tmp_path):
    """A model without a tokenizer, and a treebank that is not there."""
    save_file(planted()[0], tmp_path / "encoder.safetensors")
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
    (tmp_path / "a.conllu").write_text("1\tDogs\t_\t_\t_\t_\t2\tnsubj\n2\tbark\t_\t_\t_\t_\t0\troot\n")
    for test, fact in (("a.conllu", "no tokenizer.json"), ("absent.conllu", "cannot be read")):
        answer = run(
            tmp_path / "encoder.safetensors",
            tmp_path / "a.conllu",
            tmp_path / test,
            "--config",
            tmp_path / "settings.json",
        )
        assert answer.exit_code == 2
        assert fact in " ".join(answer.stderr.split())


@pytest.mark.extra("tokenizers")
def test_a_treebank(tmp_path):
    """Each relation is chosen on one file and scored on the other; a fixed offset that always holds is found."""
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "a", "cat", "dog", "bird", "saw", "heard", "ran", "far"]
    tiny.save_tokenizer(tmp_path, words)
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(0)
    for name in ("dev", "test"):
        blocks = []
        for _ in range(70):
            one, verb, two = rng.choice(words[5:8]), rng.choice(words[8:11]), rng.choice(words[5:8])
            rows = [("the", 2, "det"), (one, 3, "nsubj"), (verb, 0, "root"), ("a", 5, "det"), (two, 3, "obj")]
            rows += [("far", 3, "advmod")] * int(rng.integers(0, 2))
            blocks.append("\n".join(f"{n}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_" for n, (w, h, r) in enumerate(rows, 1)))
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(blocks) + "\n\n")
    answer = run(tmp_path, tmp_path / "dev.conllu", tmp_path / "test.conllu", "--json")
    assert answer.exit_code == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert set(facts) == KEYS
    (det,) = facts["relations"]  # the only one with 100 pairs
    assert (det["relation"], det["scored_pairs"], det["offset"], det["offset_scored"]) == ("det", 140, 1, 1.0)
    assert det["verdict"] in ("below", "open")
    assert facts["rare"]["obj"] == [70, 70]
    assert facts["maps"] == 2 * 3 * 2
