"""A head that was built to find the nearest point is found, above its controls; a treebank's answer is whole."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.head_annotation import heads_nearest
from keyhole.cli.app import app

from helpers import tiny_checkpoints as tiny

SETTINGS = {"nhead": 2, "norm_first": True, "causal": False}
KEYS = [  # golden: fields are only ever added
    "keyhole", "schema", "source", "architecture", "counting", "chosen_on", "scored_on", "pooling", "directions",
    "offsets", "maps", "least_pairs", "level", "resamples", "longest", "left_out", "controls", "seed", "relations",
    "rare",
]  # fmt: skip


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


def test_a_planted_head():
    """The planted head is chosen, agrees always in both parts, and is above chance and both controls."""
    arrays, points = planted()
    found = heads_nearest(arrays, rows=points, config=SETTINGS)
    (score,) = found.scores
    assert (score.best.layer, score.best.head) == (0, 1)
    assert score.best.chosen == score.best.scored.value == score.best.scored.low == 1.0
    assert score.chance == pytest.approx(1 / 7)
    assert (score.chosen_pairs, score.scored_pairs) == (240, 240)
    assert score.offset is None
    assert score.over["chance"].low == pytest.approx(6 / 7)
    assert score.verdict == "above"
    assert "1 of 1" in found.summary


def test_points_without_their_head():
    """Where no head looks at the points, the best of all is not above the controls."""
    arrays, points = planted()
    arrays["layers.0.self_attn.in_proj_weight"][:, :2] = 0
    assert heads_nearest(arrays, rows=points, config=SETTINGS).scores[0].verdict != "above"


def run(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, ["heads", *(str(argument) for argument in arguments)])


def test_refusals(tmp_path):
    """Half a pair of treebanks, points that are not given, and options that would be ignored."""
    arrays, points = planted()
    save_file(arrays, tmp_path / "encoder.safetensors")
    np.save(tmp_path / "few.npy", points[:2])
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
    (tmp_path / "a.conllu").write_text("1\tDogs\t_\t_\t_\t_\t2\tnsubj\n2\tbark\t_\t_\t_\t_\t0\troot\n")
    known = (tmp_path / "encoder.safetensors", "--config", tmp_path / "settings.json")
    both = ("--conllu", tmp_path / "a.conllu", "--test", tmp_path / "a.conllu")
    for more, told in (
        (("--conllu", tmp_path / "a.conllu"), "give both --conllu and --test"),
        (("--nearest",), "give them by --rows"),
        ((*both, "--head", "1-1"), "--head was given, and would be ignored"),
        (("--nearest", "--rows", tmp_path / "few.npy"), "four inputs or more"),
        (both, "no tokenizer.json"),
        (("--conllu", tmp_path / "a.conllu", "--test", tmp_path / "absent.conllu"), "cannot be read"),
    ):
        answer = run(*known, *more)
        assert answer.exit_code == 2, more
        assert told in " ".join(answer.stderr.split())


def test_words_and_figure_of_points(tmp_path):
    """The words name the head from 1, chance and the controls; the figure has a point for each rival."""
    arrays, points = planted()
    save_file(arrays, tmp_path / "encoder.safetensors")
    np.save(tmp_path / "points.npy", points)
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
    known = (
        tmp_path / "encoder.safetensors",
        "--config",
        tmp_path / "settings.json",
        "--rows",
        tmp_path / "points.npy",
    )
    answer = run(*known, "--nearest", "--out", tmp_path / "points.csv")
    assert answer.exit_code == 0
    for part in ("1-2", "14.3", "shuffled", "random", "above", "Bonferroni"):
        assert part in answer.stdout
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 1 + 3


@pytest.mark.extra("tokenizers")
def test_a_treebank(tmp_path):
    """Each relation is chosen on one file and scored on the other; a fixed offset that always holds is found."""
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "a", "cat", "dog", "bird", "saw", "heard", "ran", "far"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(words)}, words[0])
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    rng = np.random.default_rng(0)
    for name in ("dev", "test"):
        blocks = []
        for _ in range(70):
            one, verb, two = rng.choice(words[5:8]), rng.choice(words[8:11]), rng.choice(words[5:8])
            rows = [("the", 2, "det"), (one, 3, "nsubj"), (verb, 0, "root"), ("a", 5, "det"), (two, 3, "obj")]
            rows += [("far", 3, "advmod")] * int(rng.integers(0, 2))
            blocks.append("\n".join(f"{n}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_" for n, (w, h, r) in enumerate(rows, 1)))
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(blocks) + "\n\n")
    answer = run(tmp_path, "--conllu", tmp_path / "dev.conllu", "--test", tmp_path / "test.conllu", "--json")
    assert answer.exit_code == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert list(facts) == KEYS
    (det,) = facts["relations"]  # the only one with 100 pairs
    assert (det["relation"], det["scored_pairs"], det["offset"], det["offset_scored"]) == ("det", 140, 1, 1.0)
    assert det["verdict"] in ("below", "open")
    assert facts["rare"]["obj"] == [70, 70]
    assert facts["maps"] == 2 * 3 * 2
