"""The lab's answers are those of the public functions, within its limits; what is out of range is a sentence."""

import io
import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from starlette.testclient import TestClient

from keyhole.api.bound import bound
from keyhole.api.compile import compile as compile_function
from keyhole.api.describe import describe
from keyhole.api.learn import Execution, Schedule, learn
from keyhole.apps.heads.head_data import Images, Rows
from keyhole.apps.heads.heads import heads
from keyhole.apps.live.app import make_app
from keyhole.apps.live.guard import Doorkeeper
from keyhole.apps.live.images import keep_image
from keyhole.apps.live.limits import CONTEXT, SPARSITY
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Serving
from keyhole.apps.live.screens.latent import follow
from keyhole.apps.live.screens.model import example_model, prove
from keyhole.apps.live.screens.sweeps import start as start_sweep
from keyhole.apps.live.screens.sweeps import stored_sweeps
from keyhole.apps.live.screens.training import start as start_training
from keyhole.apps.live.screens.variable import respond
from keyhole.errors import ArgumentError, KeyholeError
from keyhole.latent.inference import Settings

from helpers import tiny_checkpoints as tiny
from helpers.tiny_gpt2 import write_gpt2

OWN = "http://127.0.0.1:8437"


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server with a store of a small sweep, and models of matrices alone, of images and of words."""
    folder = tmp_path_factory.mktemp("lab")
    here = Execution(folder / "store", workers=0)
    learn("and:2", [8, 16], "elimination", schedule=Schedule(budget=12), execution=here)
    rng = np.random.default_rng(0)
    arrays = {f"blocks.0.attn.W_{name}": rng.normal(size=(2, 4, 3)) for name in "QKV"}
    save_file(arrays | {"blocks.0.attn.W_O": rng.normal(size=(2, 3, 4))}, folder / "model.safetensors")
    arrays, config = tiny.vit()
    (folder / "vit").mkdir()
    save_file(arrays, folder / "vit" / "model.safetensors")
    (folder / "vit" / "config.json").write_text(json.dumps(config))
    (folder / "vit" / "preprocessor_config.json").write_text(json.dumps({"image_mean": 0.5, "image_std": 0.25}))
    write_gpt2(folder / "words", seed=3, width=4, scale=0.05)
    models = tuple(str(folder / name) for name in ("model.safetensors", "vit", "words"))
    return Serving(folder / "store", models)


@pytest.fixture(scope="module")
def ask(serving):
    """Ask a question of the lab."""
    with TestClient(make_app(serving, Doorkeeper("session", 8437)), base_url=OWN) as client:
        client.cookies.set("keyhole_session_8437", "session", domain="127.0.0.1")
        yield lambda path, **words: client.get(f"/ask/{path}", params=words).json()


@pytest.mark.slow
def test_a_formula_is_answered_as_at_the_terminal(ask):
    """Description, proof, norms and bound are those of describe, compile and bound."""
    answer = ask("variable/variable", formula="x1 & ~x3", context=20, samples=1e5)
    compiled = compile_function("x1 & ~x3", 20)
    assert answer["compiled"]["margin"] == compiled.proof.margin
    assert answer["compiled"]["norms"] == compiled.norms
    assert answer["description"]["leap"] == describe("x1 & ~x3").leap
    assert answer["bound"]["summary"] == bound(compiled, samples=1e5).summary


def test_a_short_context_grows_to_hold_the_formula(ask):
    """A context that is too short for the formula is the shortest that holds it."""
    answer = ask("variable/variable", formula="x30", context=5)
    assert answer["context"] == answer["shortest"] == 31


@pytest.mark.parametrize("ones", [(), (1,), (3,), (1, 3), (0, 1, 2, 3)])
def test_a_flipped_bit_is_answered_rightly(ask, ones):
    """Output and attention are those of the compiled layer; shares of the attention have the sum 1."""
    answer = ask("variable/response", formula="x1 ^ x3", context=9, ones=",".join(map(str, ones)))
    assert answer["answer"] == answer["truth"] == ((1 in ones) != (3 in ones))
    for shares, own in zip(answer["attention"], answer["cls_attention"], strict=True):
        assert sum(shares) + own == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("formula", ["x1 & x2 | ~x3", "maj(x1, x2, x3)", "x0 ^ x4"])
def test_a_response_is_the_function_on_every_input(formula):
    """On all inputs of six positions the layer answers as the function does."""
    compiled = compile_function(formula, 6)
    for number in range(64):
        answer = respond(compiled, [place for place in range(6) if number >> place & 1])
        assert answer["answer"] == answer["truth"]


def test_positions_beyond_the_context_are_refused():
    """A bit that is not there cannot be set."""
    with pytest.raises(ArgumentError, match="0 to 5"):
        respond(compile_function("x1", 6), [6])


def test_a_context_is_followed_to_the_posterior(ask):
    """The sink is the posterior mean after every token; a finite latent has its posterior."""
    answer = ask("latent/context", model="gaussian", length=6)
    assert all(step["gaps"]["sink"] < 1e-18 for step in answer["steps"])
    finite = ask("latent/context", model="finite", length=6)
    assert all(sum(step["posterior"]) == pytest.approx(1) for step in finite["steps"])
    assert finite["steps"] == follow("finite", (), Settings(), 6, 0)["steps"]


def test_variances_of_the_prior_and_the_noise_are_the_pages(ask):
    """The posterior mean of a Gaussian location is T/(T + σ²/τ²) of the mean of the tokens, at the variances chosen."""
    answer = ask("latent/context", model="gaussian", length=5, prior=0.5, noise=3)
    mean = sum(step["token"][0] for step in answer["steps"]) / 5
    assert answer["steps"][-1]["posterior_mean"][0] == pytest.approx(5 / (5 + 3 / 0.5) * mean)


def test_errors_come_with_their_figure(ask):
    """The curve of errors is drawn from the same measurement as `infer`."""
    assert {row["T"] for row in ask("latent/errors", model="gaussian")["figure"]["rows"]} >= {4, 128}


def test_sweeps_of_the_store_are_shown(ask, serving):
    """The sweep that was made elsewhere is there, with the thresholds that its runs have."""
    answer, found = ask("sweeps/sweeps"), stored_sweeps(serving.store)
    assert answer["runs"] == found[0]["runs"] > 0
    assert [sweep["name"] for sweep in answer["sweeps"]] == ["and:2 by elimination"]
    assert answer["sweeps"][0]["thresholds"][0]["m"] == found[0]["thresholds"][0].m


@pytest.mark.slow
@pytest.mark.parametrize(
    "schedule",
    [Schedule(), Schedule(budget=30), Schedule(samples=(10, 20, 40), seeds=8), Schedule(budget=40, first_seed=9)],
)
def test_the_lab_and_the_terminal_give_the_same_m(schedule, tmp_path):
    """Contexts that share widths, a budget, a grid: m*, its interval and the verdict on growth are those of `learn`."""
    here = Execution(tmp_path, workers=0)
    answer = learn("and:3", [10, 20, 40, 80], "elimination", schedule=schedule, execution=here)
    (swept,) = stored_sweeps(tmp_path)
    assert (swept["thresholds"], swept["law"], swept["runs"]) == (answer.thresholds, answer.verdict, answer.runs)


@pytest.mark.slow
def test_no_screen_is_empty_at_first(tmp_path):
    """Without runs the sweeps are an example, which is said; without a model a compiled one is read, bits and all."""
    first = Serving(tmp_path, (example_model(tmp_path),))
    with TestClient(make_app(first, Doorkeeper("session", 8437)), base_url=OWN) as client:
        client.cookies.set("keyhole_session_8437", "session", domain="127.0.0.1")
        swept, model, seen = (
            client.get(f"/ask/{path}", params=words).json()
            for path, words in (
                ("sweeps/sweeps", {}),
                ("model/norms", {}),
                ("model/attention", {"text": "0 1 0 1 1 0 1 0", "layer": 1, "head": 1}),
            )
        )
    assert swept["figure"]["subtitle"].startswith("There are no runs yet")
    assert [row["context"] for row in swept["sweeps"][0]["thresholds"]] == [25, 50, 100]
    assert (swept["runs"], list(tmp_path.glob("runs.*"))) == (0, [])
    assert model["heads"]
    assert seen["map"]["rows"] == [*(f"x{place}" for place in range(8)), "[CLS]"]
    assert len(seen["map"]["weights"]) == 9


def test_models_are_named_by_numbers(ask):
    """A model of the command line is read; another number, or a path, is refused."""
    assert ask("model/models")["models"] == ["model.safetensors", "vit", "words"]
    assert len(ask("model/norms", model=1)["heads"]) == 2
    assert "refused" in ask("model/norms", model=4)
    assert "refused" in ask("model/norms", model="/etc/passwd")


def test_a_model_says_what_it_can_be_asked(ask):
    """Only a model of patches is given images, and only one layer of tokens is verified."""
    asked = [ask("model/norms", model=number) for number in (1, 2, 3)]
    assert [each["reads_images"] for each in asked] == [False, True, False]
    assert [each["verifiable"] for each in asked] == [False, False, True]


def test_a_model_of_words_reads_its_own_tokens(ask, serving):
    """Without a tokenizer a text is tokens between spaces, by the names beside the weights; others are a sentence."""
    answer = ask("model/attention", model=3, text="BOS 0 1 SEP", layer=1, head=2)
    own = heads(serving.models[2], Rows(np.array([[2, 0, 1, 3]])), head=(0, 1), controls=False)
    assert answer["map"]["rows"] == ["BOS", "0", "1", "SEP"]
    assert answer["map"]["weights"] == own.map.weights.tolist()
    assert ask("model/norms", model=3)["tokens"] == ["0", "1", "BOS", "SEP", "no"]
    assert "no token named" in ask("model/attention", model=3, text="The cat")["refused"]


def test_an_image_is_read_as_at_the_terminal(ask, serving):
    """The heads on an image that was dropped in are those of `heads` on the same pixels; its patches have a grid."""
    pixels, content = np.random.default_rng(1).integers(0, 256, (6, 6)).astype(np.uint8), io.BytesIO()
    np.save(content, pixels)
    name = keep_image(serving.store, content.getvalue())
    answer = ask("model/attention", model=2, image=name, layer=1, head=2)
    own = heads(serving.models[1], Images(pixels[None]), head=(0, 1), controls=False)
    assert answer["map"]["weights"] == own.map.weights.tolist()
    assert answer["map"]["grid"] == [2, 2]
    assert "reads none" in ask("model/attention", model=3, image=name)["refused"]


@pytest.mark.parametrize("name", ["..", "../../etc", "/etc", "a" * 32, "A" * 32, "0" * 31, "<b>", "lab-images"])
def test_no_image_by_a_path(ask, name):
    """An image is asked for by the digest of its content; what is none, or is not kept, is a sentence."""
    assert "drop" in ask("model/attention", model=2, image=name)["refused"]


@pytest.mark.parametrize("claim", ["automaton:/etc/passwd", " automaton: x.json", "majority:x", "", "x" * 201])
def test_a_claim_names_no_file(serving, claim):
    """A claim that would be read from a file is refused: no path comes from the browser."""
    with pytest.raises(ArgumentError):
        prove(Query({"model": "3", "claim": claim, "lengths": "3"}), serving)


def test_a_claim_is_words_of_its_own(serving):
    """What is typed reaches the command as values, never as options of its own; the model is the command line's."""
    typed = {"model": "3", "claim": "first is 1", "lengths": "1..3,9", "read-at": "--store=/x", "before": "-x"}
    command = prove(Query(typed), serving)
    assert "--lengths=1,2,3,9" in command.words
    assert "--read-at=--store=/x" in command.words
    assert command.words[-2:] == ("--", serving.models[2])
    assert command.answered == (0, 1)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("variable/variable", {"formula": "x1 &"}),
        ("variable/variable", {"formula": "x" * 401}),
        ("variable/variable", {"formula": "and:3", "context": CONTEXT + 1}),
        ("variable/variable", {"formula": f"parity:{SPARSITY + 1}"}),
        ("variable/variable", {"formula": "x999999"}),
        ("variable/variable", {"formula": "x1", "samples": "1e400"}),
        ("variable/response", {"formula": "x1", "ones": "-1"}),
        ("variable/response", {"formula": "x1", "ones": "400"}),
        ("latent/context", {"model": "../x"}),
        ("latent/context", {"model": "gaussian", "length": 10**6}),
        ("latent/context", {"model": "gaussian", "bandwidth": "T^T"}),
        ("latent/context", {"model": "gaussian", "attention": "none,such"}),
        ("model/attention", {"text": ""}),
        ("model/attention", {"model": 2, "image": "0" * 32}),
        ("model/attention", {"text": "a" * 3000}),
    ],
)
def test_out_of_range_is_a_sentence(ask, path, words):
    """Bad input gets one sentence, never a traceback, and names no Python."""
    refused = ask(path, **words)["refused"]
    assert refused.rstrip().endswith((".", "'", "^"))  # a formula is shown with a mark below what is wrong
    assert "Traceback" not in refused


@pytest.mark.parametrize("start", [start_training, start_sweep])
@pytest.mark.parametrize("task", ["parity:11", "and:5000", "x1 &"])
def test_no_large_task_is_started(serving, start, task):
    """A task with too many relevant positions, or that is no function, is refused before anything is computed of it."""
    with pytest.raises(KeyholeError):
        start(Query({"task": task}), serving)


def test_a_task_is_a_word_of_its_own(serving):
    """What is typed as a task reaches the command behind `--`, as one word, whatever is in it."""
    command = start_training(Query({"task": "x1 & x2"}), serving)
    assert command.words[-2:] == ("--", "x1 & x2")
