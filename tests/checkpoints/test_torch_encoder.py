"""PyTorch's own encoder layer, brought as named arrays and a description, is the same function; the rest is refused."""

import json
import re
from itertools import combinations

import numpy as np
import pytest
from safetensors.numpy import save_file

from keyhole.api.prove import Effort, prove
from keyhole.attention.evaluation import evaluate
from keyhole.attention.forward_pass import forward
from keyhole.attention.tables import tabulate
from keyhole.checkpoints import torch_encoder as foreign
from keyhole.checkpoints.probes import TOLERANCE
from keyhole.checkpoints.torch_encoder import read_foreign
from keyhole.errors import CheckpointError
from keyhole.files.model import read_weights
from keyhole.prover.extraction.extraction import certifiable

T, A, D, HEADS, HIDDEN = 7, 3, 8, 4, 10
DESCRIPTION = {
    "architecture": "TransformerEncoderLayer", "nhead": HEADS, "activation": "relu", "norm_first": True, "context": T,
}  # fmt: skip
BIASES = (
    "self_attn.in_proj_bias",
    "self_attn.out_proj.bias",
    "linear1.bias",
    "linear2.bias",
    "norm1.bias",
    "norm2.bias",
)


def arrays(prefix="layer", seed=0):
    """A state dict of the documented names and shapes."""
    rng = np.random.default_rng(seed)
    shapes = {
        "tokens.weight": (A, D), "positions": (T, D), "cls": (1, 1, D), "readout.weight": (1, D), "readout.bias": (1,),
        f"{prefix}.self_attn.in_proj_weight": (3 * D, D), f"{prefix}.self_attn.in_proj_bias": (3 * D,),
        f"{prefix}.self_attn.out_proj.weight": (D, D), f"{prefix}.self_attn.out_proj.bias": (D,),
        f"{prefix}.linear1.weight": (HIDDEN, D), f"{prefix}.linear1.bias": (HIDDEN,),
        f"{prefix}.linear2.weight": (D, HIDDEN), f"{prefix}.linear2.bias": (D,),
        f"{prefix}.norm1.weight": (D,), f"{prefix}.norm1.bias": (D,),
        f"{prefix}.norm2.weight": (D,), f"{prefix}.norm2.bias": (D,),
    }  # fmt: skip
    return {name: rng.normal(size=shape) / 2 for name, shape in shapes.items()}


def outputs(tensors, described, rows):
    """The model's numbers, by tables."""
    return np.asarray(evaluate(certifiable(read_foreign(tensors, described).model).tables, rows))


@pytest.mark.extra("torch")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_equal_to_torch(tmp_path, activation, norm_first, bias):
    """Single-precision weights through a file, against torch in double precision, to 1e-9."""
    import torch
    from safetensors.torch import save_file as save_torch

    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(
        D, HEADS, HIDDEN, 0.0, activation, batch_first=True, norm_first=norm_first, bias=bias
    )
    readout, norm = torch.nn.Linear(D, 2), torch.nn.LayerNorm(D)
    parts = {"layer": layer, "readout": readout, "norm": norm}
    with torch.no_grad():
        for part in parts.values():
            for weight in part.parameters():
                weight.normal_(0, 0.5)
    state = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.state_dict().items()}
    state |= {"table": torch.randn(A + 1, D), "places": torch.randn(1, T + 1, D)}
    path = tmp_path / "w.safetensors"
    save_torch(state, path)
    names = {"tokens": "table", "positions": "places", "final_norm": "norm"}
    described = DESCRIPTION | {"activation": activation, "norm_first": norm_first}
    described |= {"names": names, "cls_token": A, "cls_at": "first"}
    rows = np.random.default_rng(0).integers(0, A, (20, T))
    ids = torch.asarray(np.concatenate([np.full((20, 1), A), rows], axis=1))
    stream = state["table"][ids] + state["places"]
    single = readout(norm(layer(stream)[:, 0])).detach().numpy()
    described |= {"probes": {"inputs": rows.tolist(), "outputs": single.tolist()}}  # in single precision, as people do
    path.with_suffix(".json").write_text(json.dumps(described))
    wide = {name: part.double() for name, part in parts.items()}
    stream = state["table"].double()[ids] + state["places"].double()
    logits = wide["readout"](wide["norm"](wide["layer"](stream)[:, 0])).detach().numpy()
    np.testing.assert_allclose(outputs(*read_weights(path), rows), logits[:, 1] - logits[:, 0], rtol=1e-9, atol=1e-9)


def test_a_position_of_its_own_and_a_token_of_its_own():
    """[CLS] with a row of either table is the same as [CLS] with their sum as its vector."""
    tensors = arrays()
    rows = np.random.default_rng(0).integers(0, A, (9, T))
    wanted = outputs(tensors, DESCRIPTION, rows)
    place = np.linspace(0, 1, D)
    for where, order in (("first", lambda a, b: np.vstack([a, b])), ("last", lambda a, b: np.vstack([b, a]))):
        moved = dict(tensors)
        moved["positions"] = order(place[None], tensors["positions"])
        moved["tokens.weight"] = np.vstack([tensors["tokens.weight"], tensors.pop("cls").reshape(1, -1) - place])
        del moved["cls"]
        tensors["cls"] = moved["tokens.weight"][-1] + place
        found = outputs(moved, DESCRIPTION | {"cls_at": where, "cls_token": A}, rows)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_float32_files(tmp_path):
    """A file of single precision gives the tables of exactly those numbers."""
    tensors = {name: array.astype(np.float32) for name, array in arrays().items()}
    save_file(tensors, tmp_path / "w.safetensors", {"keyhole": json.dumps(DESCRIPTION)})
    rows = np.random.default_rng(0).integers(0, A, (9, T))
    exact = {name: array.astype(np.float64) for name, array in tensors.items()}
    assert np.array_equal(outputs(*read_weights(tmp_path / "w.safetensors"), rows), outputs(exact, DESCRIPTION, rows))


REFUSED = {
    "unknown architecture": ({"architecture": "Mamba"}, "names the architecture 'Mamba', which is not known"),
    "no heads": ({"nhead": 0}, "nhead is 0; it must be a whole number of heads"),
    "an odd number of heads": ({"nhead": 3}, "3 heads with . keys and values do not share evenly"),
    "another activation": ({"activation": "silu"}, "activation is 'silu'; it must be relu or gelu"),
    "no order": ({"norm_first": 1}, "norm_first is 1; it must be true or false"),
    "an unknown field": ({"depth": 2}, "'depth', which means nothing here"),
    "an unknown name": ({"names": {"tok": "x"}}, "'tok', which means nothing here"),
    "a missing tensor": ({"names": {"cls": "class"}}, "speaks of class, which is not in the file"),
    "a wrong place": ({"cls_at": "middle"}, "cls_at is 'middle'; it must be first, last or left out"),
    "a place as a list": ({"cls_at": ["first"]}, r"cls_at is \['first'\]; it must be first, last or left out"),
    "an activation as a list": ({"activation": ["relu"]}, r"activation is \['relu'\]; it must be relu or gelu"),
    "eps as text": ({"layer_norm_eps": "x"}, "layer_norm_eps is 'x'; it must be a number above 0"),
    "eps as null": ({"layer_norm_eps": None}, "layer_norm_eps is None; it must be a number above 0"),
    "eps of zero": ({"layer_norm_eps": 0}, "layer_norm_eps is 0; it must be a number above 0"),
    "names as a list": ({"names": ["layer"]}, r"names is \['layer'\]; it must be an object of names of tensors"),
    "a name that is none": ({"names": {"tokens": ["x"]}}, "it must be an object of names of tensors"),
    "no context": ({"context": None}, r"context is None; it must be T, the number of tokens besides \[CLS\]"),
    "another context": ({"context": T + 1}, "context is 8, and the position table has 7 for tokens, since no row is"),
    "a row too few": ({"context": T, "cls_at": "first"}, "context is 7, and the position table has 6 for tokens"),
    "a row too few, last": ({"context": T, "cls_at": "last"}, r"since the last row is taken for \[CLS\] \(cls_at\)"),
    "a context that is none": ({"context": 7.0}, "context is 7.0; it must be T, the number of tokens"),
    "a wrong token": ({"cls_token": 9}, "cls_token is 9; it must be a row of the token table"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_descriptions_that_are_refused(case):
    """What the description gets wrong is named."""
    change, sentence = REFUSED[case]
    with pytest.raises(CheckpointError, match=sentence):
        read_foreign(arrays(), DESCRIPTION | change)


def test_tensors_that_are_refused():
    """Two layers; a tensor without a place; shapes that do not fit; a read-out of three."""
    with pytest.raises(CheckpointError, match="holds 2 attention layers; after one layer tokens depend on each other"):
        read_foreign(arrays("layers.0") | arrays("layers.1"), DESCRIPTION)
    with pytest.raises(CheckpointError, match="extra in the file has no place"):
        read_foreign(arrays() | {"extra": np.zeros(1)}, DESCRIPTION)
    for name, shape in (("positions", (T, D + 1)), ("layer.linear1.bias", (3,)), ("readout.weight", (3, D))):
        with pytest.raises(CheckpointError, match=r"entries were expected|fit the rest|3 outputs"):
            read_foreign(arrays() | {name: np.zeros(shape)}, DESCRIPTION)


def test_a_bias_without_axes_is_one_number():
    """A read-out bias of shape () is that of shape (1,); one of two entries does not fit one output."""
    rows = np.random.default_rng(0).integers(0, A, (9, T))
    tensors = arrays()
    flat = tensors | {"readout.bias": tensors["readout.bias"].reshape(())}
    assert np.array_equal(outputs(flat, DESCRIPTION, rows), outputs(tensors, DESCRIPTION, rows))
    with pytest.raises(CheckpointError, match="where 1 numbers fit the rest"):
        read_foreign(arrays() | {"readout.bias": np.zeros(2)}, DESCRIPTION)


@pytest.mark.parametrize("where", [None, "first", "last"])
def test_the_context_is_that_of_the_tokens(where):
    """T positions, or T + 1 with one for [CLS]: the same context is right."""
    tensors = arrays()
    tensors["positions"] = np.zeros((T if where is None else T + 1, D))
    model = tabulate(read_foreign(tensors, DESCRIPTION | {"context": T, "cls_at": where}).model)
    assert model.tokens == T


@pytest.mark.parametrize("kept", [1, 3, 5])
def test_some_biases_of_the_layer_are_refused(kept):
    """PyTorch's layer has all six or none; with any of them missing the rest is no model."""
    for chosen in combinations(BIASES, kept):
        tensors = {name: array for name, array in arrays().items() if name.removeprefix("layer.") not in BIASES}
        tensors |= {f"layer.{name}": arrays()[f"layer.{name}"] for name in chosen}
        missing = next(name for name in BIASES if name not in chosen)
        with pytest.raises(CheckpointError, match=f"layer.{missing} is not in the file, and {kept} other biases"):
            read_foreign(tensors, DESCRIPTION)


def test_absent_biases_are_said():
    """A layer, a read-out and a final norm without biases are those with zeros, and the words say which are lacking."""
    rows = np.random.default_rng(0).integers(0, A, (9, T))
    zeros = {name: np.zeros_like(array) for name, array in arrays().items() if name.endswith("bias")}
    norm, described = {"norm.weight": np.linspace(1, 2, D)}, DESCRIPTION | {"names": {"final_norm": "norm"}}
    without = {name: array for name, array in arrays().items() if not name.endswith("bias")} | norm
    wanted = outputs(arrays() | zeros | norm | {"norm.bias": np.zeros(D)}, described, rows)
    assert np.array_equal(outputs(without, described, rows), wanted)
    told = read_foreign(without, described)
    assert [told.described[name] for name in ("layer_biases", "final_norm_bias", "readout_bias")] == [False] * 3
    bare = {name: array for name, array in arrays().items() if name != "readout.bias"}
    assert read_foreign(bare, DESCRIPTION).described["readout_bias"] is False
    assert "bias" not in read_foreign(arrays(), DESCRIPTION).assumed[0]


def original(tensors, rows, *, first=True, dtype=np.float32):
    """PyTorch's layer written out in plain numpy, [CLS] being row A of the tokens and the first position."""
    weights = {name: array.astype(dtype) for name, array in tensors.items()}

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + dtype(1e-5))
        return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attention(x):
        packed = x @ weights["layer.self_attn.in_proj_weight"].T + weights["layer.self_attn.in_proj_bias"]
        query, key, value = (
            part.reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2) for part in np.split(packed, 3, axis=-1)
        )
        scores = query @ key.swapaxes(2, 3) / dtype(np.sqrt(query.shape[-1]))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (shares / shares.sum(axis=-1, keepdims=True) @ value).swapaxes(1, 2).reshape(x.shape)
        return linear(mixed, "layer.self_attn.out_proj")

    def feed(x):
        return linear(np.maximum(linear(x, "layer.linear1"), 0), "layer.linear2")

    ids = np.concatenate([np.full((len(rows), 1), A), rows], axis=1)
    x = weights["tokens.weight"][ids] + weights["positions"]
    if first:
        x = x + attention(norm(x, "layer.norm1"))
        x = x + feed(norm(x, "layer.norm2"))
    else:
        x = norm(x + attention(x), "layer.norm1")
        x = norm(x + feed(x), "layer.norm2")
    return linear(x[:, 0], "readout")


def described_with_probes(tensors, *, first=True, count=8, dtype=np.float32):
    """The right description of `original`, and its outputs on a few inputs."""
    rows = np.random.default_rng(3).integers(0, A, (count, T))
    probes = {"inputs": rows.tolist(), "outputs": original(tensors, rows, first=first, dtype=dtype)[:, 0].tolist()}
    return DESCRIPTION | {"norm_first": first, "cls_at": "first", "cls_token": A, "probes": probes}


def embedded(seed):
    """Weights with [CLS] among the tokens and positions, of single precision."""
    tensors = arrays(seed=seed)
    rng = np.random.default_rng([seed, 1])
    del tensors["cls"]
    tensors |= {"tokens.weight": rng.normal(size=(A + 1, D)), "positions": rng.normal(size=(T + 1, D))}
    return {name: array.astype(np.float32).astype(np.float64) for name, array in tensors.items()}


@pytest.mark.parametrize("first", [False, True])
def test_probes_in_single_precision_pass(first):
    """Twenty layers in single precision deviate by less than a tenth of the tolerance; ours is the double to 1e-12."""
    for seed in range(20):
        tensors = embedded(seed)
        described = described_with_probes(tensors, first=first)
        told = read_foreign(tensors, described)
        assert told.described["probes"] == 8
        assert told.described["probe_deviation"] < TOLERANCE / 10
        assert told.described["probes_test"]
        rows = np.array(described["probes"]["inputs"])
        exact = original(tensors, rows, first=first, dtype=np.float64)[:, 0]
        np.testing.assert_allclose(forward(told.model, rows), exact, rtol=1e-12, atol=1e-12)


WRONG = {
    "nhead 1": {"nhead": 1},
    "nhead 2": {"nhead": 2},
    "nhead 8": {"nhead": 8},
    "gelu": {"activation": "gelu"},
    "cls_at last": {"cls_at": "last"},
    "cls_at left out": {"cls_at": None},
    "cls_at left out, a context to fit": {"cls_at": None, "context": T + 1},
    "cls_token 0": {"cls_token": 0},
    "eps 1.0": {"layer_norm_eps": 1.0},
    "norm_first": {"norm_first": None},
}


@pytest.mark.slow
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_descriptions_are_refused_by_probes(case, first):
    """Each wrong description of the same weights, for ten layers: never read where probes are given."""
    change = {"norm_first": not first} if case == "norm_first" else WRONG[case]
    for seed in range(10):
        tensors = embedded(seed)
        described = described_with_probes(tensors, first=first)
        read_foreign(tensors, described)
        with pytest.raises(CheckpointError, match=r"Correct the description|correct one of the two|probes have shape"):
            read_foreign(tensors, described | change)


def test_without_probes_nothing_was_tested():
    """Wrong heads are read without probes, and the words say that the description was not tested."""
    told = read_foreign(embedded(0), described_with_probes(embedded(0)) | {"probes": None, "nhead": 2})
    assert told.described["probes_test"] is False
    assert (told.described["probes"], told.described["probe_deviation"]) == (0, None)


def test_probes_of_two_logits():
    """Both logits or their difference, also where the two nearly cancel."""
    tensors = embedded(0)
    tensors["readout.weight"] = np.vstack([tensors["readout.weight"] + 5, tensors["readout.weight"] + 5.5])
    tensors["readout.bias"] = np.array([0.25, -0.5])
    rows = np.random.default_rng(3).integers(0, A, (8, T))
    both = original(tensors, rows).astype(float)
    for given in (both, both[:, 1] - both[:, 0]):
        described = described_with_probes(embedded(0))
        described["probes"] = {"inputs": rows.tolist(), "outputs": given.tolist()}
        assert read_foreign(tensors, described).described["probes"] == 8
    with pytest.raises(CheckpointError, match="On probe 0 the weights, read as described"):
        read_foreign(tensors, described | {"probes": {"inputs": rows.tolist(), "outputs": both[:, ::-1].tolist()}})


def with_common_part(tensors, common, seed=0):
    """Two logits whose difference is that of two small rows, with a large row added to both, of single precision."""
    rng = np.random.default_rng([seed, 2])
    rows = tensors["readout.weight"] + rng.normal(size=(2, D)) + common * rng.normal(size=(1, D))
    return tensors | {
        "readout.weight": rows.astype(np.float32).astype(np.float64),
        "readout.bias": np.array([0.25, -0.5]),
    }


def probed(logits, rows, *, first=True):
    """The right description with these outputs."""
    probes = {"inputs": rows.tolist(), "outputs": np.asarray(logits, dtype=float).tolist()}
    return described_with_probes(embedded(0), first=first) | {"probes": probes}


@pytest.mark.slow
@pytest.mark.parametrize("given", ["both", "difference"])
@pytest.mark.parametrize("common", [0.0, 1e2, 1e3, 1e5, 1e7])
def test_a_common_part_of_two_logits_hides_no_wrong_description(common, given):
    """The right one passes in single precision; a wrong one is refused, or the words say that nothing was tested."""
    rows = np.random.default_rng(3).integers(0, A, (8, T))
    for seed in range(10):
        tensors = with_common_part(embedded(seed), common, seed)
        both = original(tensors, rows)
        described = probed(both if given == "both" else both[:, 1] - both[:, 0], rows)
        told = read_foreign(tensors, described)
        if common != 1e3:  # there some layers can be told from a wrong one, and some not
            assert told.described["probes_test"] is (common <= 1e2)
        if common >= 1e5:
            assert "rounding in single" in told.assumed[1]
        for change in ({"nhead": 1}, {"nhead": 2}, {"activation": "gelu"}, {"norm_first": False}):
            if told.described["probes_test"]:
                with pytest.raises(CheckpointError, match="Correct the description"):
                    read_foreign(tensors, described | change)
                continue
            try:
                read = read_foreign(tensors, described | change)
            except CheckpointError:
                continue
            assert read.described["probes_test"] is False


def test_each_logit_is_compared_on_its_own():
    """Both logits raised alike have the right difference, and are refused as logits."""
    tensors, rows = with_common_part(embedded(0), 0.0), np.random.default_rng(3).integers(0, A, (8, T))
    both = original(tensors, rows)
    read_foreign(tensors, probed(both, rows))
    with pytest.raises(CheckpointError, match="On probe 0, of logit 0, the weights, read as described"):
        read_foreign(tensors, probed(both + np.float32(0.5), rows))


def test_probes_that_say_nothing_are_no_test():
    """Three inputs; one input eight times; outputs all equal; outputs that vary by less than is allowed."""
    tensors, rows = embedded(0), np.random.default_rng(3).integers(0, A, (8, T))
    constant = tensors | {"readout.weight": np.zeros((1, D))}
    flat = tensors | {"layer.norm2.weight": np.ones(D), "layer.norm2.bias": np.zeros(D)}
    flat["readout.weight"] = tensors["readout.weight"] + 1e4  # a normed row has mean 0, so that this adds nothing
    for weights, inputs, first, why in (
        (tensors, rows[:3], True, "3 different inputs came with outputs, and 4 are needed"),
        (tensors, rows[[0] * 8], True, "1 different input came with outputs, and 4 are needed"),
        (constant, rows, True, "gave the same output on all of them"),
        (flat, rows, False, "outputs vary by .* only, and a deviation of .* is allowed"),
    ):
        told = read_foreign(weights, probed(original(weights, inputs, first=first)[:, 0], inputs, first=first))
        assert re.search(rf"{len(inputs)} inputs agree: .*{why}", told.assumed[1])
        assert (told.described["probes"], told.described["probes_test"]) == (len(inputs), False)
    four = probed(original(tensors, rows[:4])[:, 0], rows[:4])
    assert read_foreign(tensors, four).described["probes_test"]


ROW = [0] * T
ODD_PROBES = {
    "a list": ([ROW], r"probes are \[\[0, 0, 0, 0, 0, 0, 0\]\]; give"),
    "no outputs": ({"inputs": [ROW]}, "probes are .*; give"),
    "none": ({"inputs": [], "outputs": []}, r"have shape \(0,\).*give at least one, each of 7 whole numbers"),
    "ragged": ({"inputs": [ROW, [0]], "outputs": [0, 0]}, "not a table of numbers"),
    "too short": ({"inputs": [[0]], "outputs": [0]}, "each of 7 whole numbers"),
    "not whole": ({"inputs": [[0.5] * T], "outputs": [0]}, "each of 7 whole numbers"),
    "a strange symbol": ({"inputs": [[A] * T], "outputs": [0]}, "hold the symbol 3, and the alphabet runs from 0 to 2"),
    "a negative symbol": ({"inputs": [[-1] * T], "outputs": [0]}, "hold the symbol -1"),
    "an output too many": ({"inputs": [ROW], "outputs": [0, 0]}, "give a finite number for each of the 1 inputs"),
    "no number": ({"inputs": [ROW], "outputs": [float("nan")]}, "give a finite number"),
    "words": ({"inputs": [ROW], "outputs": ["x"]}, "give a finite number"),
}


@pytest.mark.parametrize("case", ODD_PROBES)
def test_probes_that_are_none(case):
    """What cannot be compared is refused, and the sentence says what to give."""
    probes, sentence = ODD_PROBES[case]
    with pytest.raises(CheckpointError, match=sentence):
        read_foreign(arrays(), DESCRIPTION | {"probes": probes})


def test_the_certificate_echoes_the_description(tmp_path):
    """Heads, activation, norms, epsilon, [CLS] and context stand under what is assumed, in words and in the record."""
    save_file(embedded(0), tmp_path / "w.safetensors")
    described = described_with_probes(embedded(0))
    for probes, tested in ((described["probes"], "was tested on 8 inputs"), (None, "was not tested")):
        (tmp_path / "w.json").write_text(json.dumps(described | {"probes": probes}))
        found = prove(tmp_path / "w.safetensors", effort=Effort(0.1, samples=1000))
        assert bool(found.warnings) == (probes is None)
        told = found.record()
        assert any(tested in sentence for sentence in told["assumptions"])
        wanted = {
            name: described[name] for name in ("nhead", "activation", "norm_first", "cls_at", "cls_token", "context")
        }
        assert {name: told["description"][name] for name in wanted} == wanted
        assert (told["description"]["layer_norm_eps"], told["description"]["probes"]) == (1e-5, 8 if probes else 0)


def test_the_description_shown_is_one():
    """The description of the module's own text, its remarks left out, is read; every field is in it."""
    shown = foreign.__doc__.split("::")[1].split("The model is")[0]
    lines = [re.match(r'( *(?:"\w+": (?:"[\w.]+"|[\w.-]+|\{),?|[{}]))', line) for line in shown.splitlines()]
    described = json.loads("\n".join(line[1] for line in lines if line))
    assert set(described) == foreign.FIELDS
    assert tabulate(read_foreign(arrays(), described | {"context": T}).model).tokens == T


def test_the_tables_are_those_of_the_layer():
    """One layer tabulates; its context and alphabet are those of the tensors."""
    model = tabulate(read_foreign(arrays(), DESCRIPTION).model)
    assert (model.tokens, model.symbols, len(model.heads)) == (T, A, HEADS)
