"""`keyhole heads` shows what heads do in words, JSON and figures, and refuses bad data in a sentence."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

import keyhole
from keyhole.apps.heads.head_data import Rows, Text
from keyhole.apps.heads.heads import heads
from keyhole.apps.heads.model_source import open_checkpoint
from keyhole.cli.app import app
from keyhole.errors import ArgumentError

from helpers import tiny_checkpoints as tiny

KEYS = {  # golden: fields are only ever added
    "keyhole", "schema", "source", "architecture", "sizes", "counting", "data", "inputs", "rows", "sinks", "queries",
    "statistics", "rule", "heads", "counts", "control_is", "seed", "map",
}  # fmt: skip


def run(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, ["heads", *(str(argument) for argument in arguments)])


@pytest.fixture
def encoder(tmp_path):
    """A stock encoder in a file, its settings, and rows for it."""
    arrays, config = tiny.encoder()
    save_file(arrays, tmp_path / "encoder.safetensors")
    (tmp_path / "settings.json").write_text(
        json.dumps({**config, "norm_first": True, "causal": False, "activation": "relu"})
    )
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(6, 9, tiny.D)))
    return (tmp_path / "encoder.safetensors", "--config", tmp_path / "settings.json", "--rows", tmp_path / "rows.npy")


def test_json_alone_on_stdout(encoder):
    """--json prints one object with the promised keys; heads count from 0, each with both controls."""
    answer = run(*encoder, "--json")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert set(facts) == KEYS
    assert facts["schema"] == "heads/1"
    assert [(head["layer"], head["head"]) for head in facts["heads"]] == [(a, b) for a in range(2) for b in range(3)]
    for head in facts["heads"]:
        assert set(head["with_sinks"]) == set(head["without_sinks"]) == set(facts["statistics"])
        assert set(head["controls"]) == {"shuffled", "random"}
        low, high = head["with_sinks"]["entropy"][1:]
        assert 0 <= low <= head["with_sinks"]["entropy"][0] <= high <= 1
    assert sum(facts["counts"]["trained"].values()) == 6


def test_text(encoder):
    """The text counts each verdict for both controls in a few lines; the verbose one has a row per head."""
    short, long = run(*encoder).stdout.splitlines(), run(*encoder, "-v").stdout.splitlines()
    assert [line.split()[0] for line in short[2:5]] == ["trained", "shuffled", "random"]
    assert len(short) <= 10
    assert sum(line.lstrip().startswith(("1-", "2-")) for line in long) == 6


@pytest.mark.parametrize("more", [(), ("--head", "2-3")])
@pytest.mark.parametrize("name", ["heads.svg", "heads.csv"])
def test_figures(tmp_path, encoder, more, name):
    """The grid has every head three times; one head's map has T² cells, whose rows have the sum 1."""
    assert run(*encoder, *more, "--out", tmp_path / name).exit_code == 0
    content = (tmp_path / name).read_text()
    if name.endswith(".csv"):
        lines = content.splitlines()
        assert lines[0] == ("from,to,weight" if more else "layer,head,weights,entropy,verdict")
        assert len(lines) == 1 + (81 if more else 18)
        if more:
            assert sum(float(line.rsplit(",", 1)[1]) for line in lines[1:]) == pytest.approx(9, abs=1e-5)


def test_a_long_input_is_drawn_in_blocks(encoder):
    """At 512 rows a map is drawn in 128 blocks whose rows have the sum 1; the answer keeps every weight."""
    model = open_checkpoint(encoder[0], config=encoder[2])
    answer = heads(model, Rows(np.random.default_rng(0).normal(size=(1, 512, tiny.D))), head=(1, 2), controls=False)
    weights, cells = answer.map.weights, answer.figure().rows
    assert weights.shape == (512, 512)
    drawn = np.array([cell["weight"] for cell in cells]).reshape(128, 128)
    assert drawn.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert drawn[3, 7] == pytest.approx(weights[12:16, 28:32].sum(axis=1).mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--head", "3-1"), "2 layers of 3 heads"),
        (("--head", "0-1"), "counted from 1"),
        (("--out", "heads.docx"), "must end in"),
    ],
)
def test_refusals(encoder, more, told):
    """What cannot be answered is refused in one sentence, with exit code 2."""
    answer = run(*encoder, *more)
    assert answer.exit_code == 2
    assert told in " ".join(answer.stderr.split())


def test_data_that_does_not_fit(tmp_path, encoder):
    """No data, text without a tokenizer, images for a model without patches, rows of another width."""
    alone = encoder[:3]
    (tmp_path / "text.txt").write_text("The cat saw the dog.\n")
    np.save(tmp_path / "other.npy", np.zeros((2, 5, 3)))
    for more, told in (
        ((), "exactly one kind by --text or --images or --rows"),
        (("--text", tmp_path / "text.txt"), "no tokenizer.json"),
        (("--images", tmp_path / "rows.npy"), "reads none"),
        (("--rows", tmp_path / "other.npy"), "reads rows of 12 numbers"),
        (("--rows", tmp_path / "absent.npy"), "cannot be read"),
    ):
        answer = run(*alone, *more)
        assert answer.exit_code == 2
        assert told in " ".join(answer.stderr.split())


@pytest.fixture
def vision(tmp_path):
    """A vision transformer in a file with the settings of its pixels, and the numbers of six images."""
    arrays, config = tiny.vit()
    save_file(arrays, tmp_path / "vit.safetensors")
    (tmp_path / "pixels.json").write_text(json.dumps({**config, "image_mean": [0.5], "image_std": 0.25}))
    pixels = np.random.default_rng(0).integers(0, 256, size=(6, 6, 6)).astype(np.uint8)
    return (tmp_path / "vit.safetensors", "--config", tmp_path / "pixels.json"), pixels


def test_a_folder_of_images(tmp_path, vision):
    """Pixels from 0 to 255 in a folder of arrays give the heads of the scaled array, in the order of their names."""
    model, pixels = vision
    folder = tmp_path / "images"
    folder.mkdir()
    for number, image in enumerate(pixels):
        np.save(folder / f"{number}.npy", image)
    (folder / "notes.txt").write_text("not an image")
    np.save(tmp_path / "scaled.npy", (pixels / 255 - 0.5) / 0.25)
    np.save(tmp_path / "whole.npy", pixels)
    answers = [
        json.loads(run(*model, "--images", given, "--json").stdout)
        for given in (folder, tmp_path / "scaled.npy", tmp_path / "whole.npy")
    ]
    assert answers[0]["heads"] == answers[1]["heads"] == answers[2]["heads"]
    assert (answers[0]["inputs"], answers[0]["rows"]) == (6, [5, 5])


@pytest.mark.extra("pillow")
def test_a_folder_of_pictures(tmp_path, vision):
    """Pictures give the heads of their pixels; larger ones are resized to the size that the settings say."""
    image = pytest.importorskip("PIL.Image")
    model, pixels = vision
    folder, large = tmp_path / "pictures", tmp_path / "large"
    folder.mkdir()
    large.mkdir()
    for number, each in enumerate(pixels):
        image.fromarray(each).save(folder / f"{number}.png")
        image.fromarray(np.kron(each, np.ones((4, 4), dtype=np.uint8))).save(large / f"{number}.png")
    np.save(tmp_path / "whole.npy", pixels)
    settings = json.loads((tmp_path / "pixels.json").read_text())
    wanted = json.loads(run(*model, "--images", tmp_path / "whole.npy", "--json").stdout)["heads"]
    assert json.loads(run(*model, "--images", folder, "--json").stdout)["heads"] == wanted
    (tmp_path / "pixels.json").write_text(json.dumps({**settings, "size": {"height": 6, "width": 6}, "resample": 0}))
    assert json.loads(run(*model, "--images", large, "--json").stdout)["heads"] == wanted


def test_an_image_of_too_many_patches(tmp_path, vision):
    """Every head weighs each patch against each: an image of too many is refused before its pixels are scaled."""
    np.save(tmp_path / "huge.npy", np.zeros((1, 390, 390), dtype=np.uint8))
    answer = run(*vision[0], "--images", tmp_path / "huge.npy")
    assert answer.exit_code == 2
    assert "16,900 patches" in " ".join(answer.stderr.split())


def test_what_cannot_be_measured_is_refused_first(encoder, monkeypatch):
    """A map too long to be drawn is refused before the model is run on anything."""
    monkeypatch.setattr("keyhole.apps.heads.heads.head_use", lambda *_, **__: pytest.fail("the model was run"))
    model = open_checkpoint(encoder[0], config=encoder[2])
    with pytest.raises(ArgumentError, match="maps of up to 1024"):
        heads(model, Rows(np.zeros((1, 1100, tiny.D))), head=(0, 0))


def test_images_that_do_not_fit(tmp_path, vision):
    """An empty folder, shapes that differ, no scaling, pixels out of range, a broken array, mixed kinds: refused."""
    model, pixels = vision
    folder = tmp_path / "images"
    folder.mkdir()

    def refused(told, settings="pixels.json"):
        answer = run(model[0], "--images", folder, "--config", tmp_path / settings)
        assert answer.exit_code == 2
        assert told in " ".join(answer.stderr.split())

    refused("has no images")
    np.save(folder / "a.npy", pixels[0])
    (tmp_path / "bare.json").write_text(json.dumps(tiny.vit()[1]))
    refused("give image_mean and image_std", "bare.json")
    np.save(folder / "b.npy", pixels[0][:3])
    refused("have the shapes")
    np.save(folder / "b.npy", pixels[0].astype(int) + 300)
    refused("pixels lie from 0 to 255")
    (folder / "b.npy").write_bytes(b"none")
    refused("holds no image")
    (folder / "b.npy").unlink()
    (folder / "c.png").write_bytes(b"none")
    refused("arrays (.npy) and pictures")


def test_tokens_as_rows(tmp_path):
    """Whole numbers (inputs, T) are tokens, and one that the model does not know is refused."""
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    np.save(tmp_path / "tokens.npy", np.arange(24).reshape(2, 12) % tiny.SYMBOLS)
    answer = run(tmp_path, "--rows", tmp_path / "tokens.npy", "--head", "1-1", "--json")
    assert answer.exit_code == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert facts["data"] == "2 inputs of 12 tokens"
    assert facts["map"]["rows"][:3] == ["0", "1", "2"]
    np.save(tmp_path / "tokens.npy", np.full((2, 12), tiny.SYMBOLS))
    assert run(tmp_path, "--rows", tmp_path / "tokens.npy").exit_code == 2


def test_a_function_that_keyhole_compiled(tmp_path):
    """Its one head looks at the relevant positions alone, the query being at [CLS], the last row."""
    path = keyhole.compile("x1 & x3 & x8", 12, leak=0.1).save(tmp_path / "and.safetensors")
    np.save(tmp_path / "bits.npy", np.random.default_rng(0).integers(0, 2, (4, 12)))
    answer = run(path, "--rows", tmp_path / "bits.npy", "--head", "1-1", "--json")
    assert answer.exit_code == 0, answer.stderr
    looked = np.array(json.loads(answer.stdout)["map"]["weights"])[-1]
    assert looked[[1, 3, 8]] == pytest.approx(0.3, abs=1e-6)
    np.save(tmp_path / "bits.npy", np.zeros((4, 11), dtype=int))
    refused = run(path, "--rows", tmp_path / "bits.npy")
    assert refused.exit_code == 2
    assert "reads bits (inputs, 12)" in " ".join(refused.stderr.split())


def test_a_query_at_the_first_row(encoder):
    """With the first row as the only query no row has one before it."""
    model = open_checkpoint(encoder[0], config=encoder[2])
    answer = heads(model, Rows(encoder[-1]), first_query=True, controls=False)
    assert answer.queries == "the first row alone"
    assert answer.heads[0].controls == {}
    assert answer.heads[0].with_sinks["previous"][0] is None


@pytest.mark.extra("tokenizers")
def test_text_by_the_checkpoints_own_tokenizer(tmp_path):
    """A text on each line; what the tokenizer adds is a sink, and long texts are cut and not left out."""
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "saw", "a", "dog"]
    tiny.save_tokenizer(tmp_path, words)
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "text.txt").write_text("the cat saw a dog\n\na dog saw the cat saw the dog saw the cat saw a dog saw\n")
    answer = heads(tmp_path, Text(tmp_path / "text.txt", longest=8), head=(0, 1))
    assert answer.inputs == 1 + 3  # 15 words in parts of 6
    assert answer.rows == (5, 8)
    assert answer.map.rows == ("[CLS]", "the", "cat", "saw", "a", "dog", "[SEP]")
    assert "tokenizer" in answer.sinks
    facts = json.loads(run(tmp_path, "--text", tmp_path / "text.txt", "--json").stdout)
    assert facts["rows"] == [3, 16]
