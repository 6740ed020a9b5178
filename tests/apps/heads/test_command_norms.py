"""`keyhole checkpoint norms` shows norms in words, JSON and figures, and refuses bad files in a sentence."""

import json

import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.checkpoint_norms import checkpoint_norms
from keyhole.apps.heads.norms import STATISTICS, head_norms
from keyhole.apps.heads.stand_in import stand_in_profile
from keyhole.bounds import DEEP, guarantee
from keyhole.checkpoints import load_checkpoint
from keyhole.cli.app import app
from keyhole.errors import ArgumentError

from helpers import tiny_checkpoints as tiny
from helpers.tiny_checkpoints import heads_of

KEYS = {  # golden: fields are only ever added
    "keyhole", "schema", "source", "architecture", "sizes", "number_formats", "counting", "distinct_layers",
    "statistics", "random_deviation", "seed", "heads", "stand_in", "stand_in_is", "not_covered", "unused", "series",
}  # fmt: skip


def run(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, ["checkpoint", "norms", *(str(argument) for argument in arguments)])


def write(folder, family, **options):
    """A folder with a checkpoint."""
    arrays, config = family(**options)
    folder.mkdir()
    save_file(arrays, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_json_alone_on_stdout(tmp_path):
    """--json prints one object with the promised keys, heads counting from 0, and both controls for each."""
    answer = run(write(tmp_path / "gpt2", tiny.gpt2), "--json")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert set(facts) == KEYS
    assert facts["schema"] == "checkpoint-norms/1"
    assert [(head["layer"], head["head"]) for head in facts["heads"]] == [(a, b) for a in range(2) for b in range(3)]
    assert all(
        set(head[kind]) == set(STATISTICS) for head in facts["heads"] for kind in ("trained", "random", "shuffled")
    )
    assert "from 0 in arrays" in facts["counting"]


def test_text(tmp_path):
    """The text is short and has the power of ten; the verbose one has four rows per layer and matrix."""
    folder = write(tmp_path / "llama", tiny.llama)
    short, long = run(folder).stdout, run(folder, "-v").stdout
    assert len(short.splitlines()) <= 12
    assert "vacuous by 10^" in short
    assert sum(line.split()[-6:-5] == ["shuffled"] for line in long.splitlines()) == 4


def test_samples_and_context_of_the_bound(tmp_path):
    """They are those of the norm bound; a number of samples below 1 is refused. A model without norms has no bound."""
    folder = write(tmp_path / "bert", tiny.bert)
    bound = json.loads(run(folder, "--samples", "1e9", "--context", "50", "--json").stdout)["stand_in"]
    assert (bound["samples"], bound["context"], bound["vacuous"]) == (1e9, 50, True)
    refused = run(folder, "--samples", "0")
    assert refused.exit_code == 2
    assert "at least one sample" in " ".join(refused.stderr.split())
    save_file(heads_of(), tmp_path / "bare.safetensors")
    bare = json.loads(run(tmp_path / "bare.safetensors", "--json").stdout)
    assert bare["stand_in"] is None
    assert "Nothing bounds the rows" in bare["stand_in_is"]


def test_by_how_much_it_is_vacuous():
    """With 10^orders times the samples, and a little more, the bound says something; with a little less it does not."""
    checkpoint = load_checkpoint(tiny.bert()[0], config={"num_attention_heads": 3})
    bound = checkpoint_norms(checkpoint, samples=1e4, context=50).stand_in
    profile = stand_in_profile(checkpoint, head_norms(checkpoint).trained, 51)
    needed = 1e4 * 10**bound.orders
    assert guarantee(DEEP, profile, needed * 0.999).vacuous
    assert not guarantee(DEEP, profile, needed * 1.03).vacuous
    assert 0 < 1 - sum(bound.shares) < 0.5  # the read-out has the rest


@pytest.mark.slow
@pytest.mark.parametrize("name", ["heads.svg", "heads.csv", "heads.txt"])
def test_files(tmp_path, name):
    """The answer is written as text and as a figure, whose table has each head three times."""
    assert run(write(tmp_path / "bert", tiny.bert), "--out", tmp_path / name).exit_code == 0
    lines = (tmp_path / name).read_text().splitlines()
    assert lines
    if name.endswith(".csv"):
        assert lines[0] == "layer,head,weights,qk-spectral"
        assert len(lines) == 1 + 3 * 6


def test_a_series(tmp_path):
    """Several folders are one model at several times: the first has not moved, and the figure has a line per layer."""
    folders = [write(tmp_path / f"step-{seed}", tiny.bert, seed=seed) for seed in range(3)]
    series = json.loads(run(*folders, "--json").stdout)["series"]
    assert [moment["source"] for moment in series] == [str(folder) for folder in folders]
    assert max(series[0]["moved_score"]) < 1e-7
    assert min(series[1]["moved_score"]) > 0.1
    assert run(*folders, "--out", tmp_path / "drift.csv").exit_code == 0
    assert len((tmp_path / "drift.csv").read_text().splitlines()) == 1 + 3 * 2


def hostile(folder):
    """Files that must be refused, by what is wrong with them."""
    arrays = heads_of()
    save_file(arrays, folder / "cut.safetensors")
    (folder / "cut.safetensors").write_bytes((folder / "cut.safetensors").read_bytes()[:-7])
    (folder / "long.safetensors").write_bytes((10 * 2**30).to_bytes(8, "little") + b"{}")
    save_file(arrays | {"blocks.0.attn.W_Q": arrays["blocks.0.attn.W_Q"] * float("nan")}, folder / "nan.safetensors")
    save_file({"w": arrays["blocks.0.attn.W_Q"]}, folder / "unknown.safetensors")
    save_file(tiny.bert()[0], folder / "heads.safetensors")
    (folder / "loop").symlink_to(folder / "loop")
    return {
        "cut.safetensors": "is not a whole safetensors file",
        "long.safetensors": "is not a whole safetensors file",
        "nan.safetensors": "W_Q holds NaN or infinity",
        "unknown.safetensors": "does not hold the attention",
        "heads.safetensors": "does not say how many heads",
        "loop": "cannot be read",
        "nowhere": "cannot be read",
    }


def test_hostile_files_are_refused(tmp_path):
    """Each is refused in one sentence on stderr with exit code 2, and nothing on stdout."""
    for name, sentence in hostile(tmp_path).items():
        answer = run(tmp_path / name)
        assert (answer.exit_code, answer.stdout) == (2, ""), name
        assert sentence in answer.stderr
        assert answer.stderr.strip().count("\n") == 0


def test_a_context_without_positions_is_refused():
    """It is refused before a file is opened."""
    with pytest.raises(ArgumentError, match="at least one position"):
        checkpoint_norms("nowhere", context=0)


def test_an_ending_is_refused_before_anything_is_read():
    """A name that says no format is refused first."""
    answer = run("./nowhere", "--out", "heads.gif")
    assert answer.exit_code == 2
    assert "must end in" in answer.stderr
