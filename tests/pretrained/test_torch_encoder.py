"""PyTorch's own encoder layer, brought as named arrays and a description, is the same function; the rest is refused."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

from keyhole.attention.evaluation import evaluate
from keyhole.attention.tables import tabulate
from keyhole.certifier.read.scope import certifiable
from keyhole.errors import CheckpointError
from keyhole.files.safetensors_in import read_weights
from keyhole.pretrained import torch_encoder as foreign
from keyhole.pretrained.torch_encoder import foreign_model

T, A, D, HEADS, HIDDEN = 7, 3, 8, 4, 10
DESCRIPTION = {"architecture": "TransformerEncoderLayer", "nhead": HEADS, "activation": "relu", "norm_first": True}


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
    return np.asarray(evaluate(certifiable(foreign_model(tensors, described)).tables, rows))


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
    path.with_suffix(".json").write_text(json.dumps(described))
    rows = np.random.default_rng(0).integers(0, A, (20, T))
    ids = torch.asarray(np.concatenate([np.full((20, 1), A), rows], axis=1))
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
    "an odd number of heads": ({"nhead": 3}, "3 heads share a width of 8"),
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
    "another context": ({"context": T + 1}, "context is 8, and the position table has 7 for tokens, since no row is"),
    "a row too few": ({"context": T, "cls_at": "first"}, "context is 7, and the position table has 6 for tokens"),
    "a row too few, last": ({"context": T, "cls_at": "last"}, r"since the last row is taken for \[CLS\] \(cls_at\)"),
    "a context that is none": ({"context": 7.0}, "context is 7.0; it must be a whole number above 0, or left out"),
    "a wrong token": ({"cls_token": 9}, "cls_token is 9; it must be a row of the token table"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_descriptions_that_are_refused(case):
    """What the description gets wrong is named."""
    change, sentence = REFUSED[case]
    with pytest.raises(CheckpointError, match=sentence):
        foreign_model(arrays(), DESCRIPTION | change)


def test_tensors_that_are_refused():
    """Two layers; a tensor without a place; shapes that do not fit; a read-out of three."""
    with pytest.raises(CheckpointError, match="holds 2 attention layers; after one layer tokens depend on each other"):
        foreign_model(arrays("layers.0") | arrays("layers.1"), DESCRIPTION)
    with pytest.raises(CheckpointError, match="extra in the file has no place"):
        foreign_model(arrays() | {"extra": np.zeros(1)}, DESCRIPTION)
    for name, shape in (("positions", (T, D + 1)), ("layer.linear1.bias", (3,)), ("readout.weight", (3, D))):
        with pytest.raises(CheckpointError, match="do not fit together"):
            foreign_model(arrays() | {name: np.zeros(shape)}, DESCRIPTION)


def test_a_bias_without_axes_is_one_number():
    """A read-out bias of shape () is that of shape (1,); one of two entries does not fit one output."""
    rows = np.random.default_rng(0).integers(0, A, (9, T))
    tensors = arrays()
    flat = tensors | {"readout.bias": tensors["readout.bias"].reshape(())}
    assert np.array_equal(outputs(flat, DESCRIPTION, rows), outputs(tensors, DESCRIPTION, rows))
    with pytest.raises(CheckpointError, match="1 outputs and a bias of 2 entries"):
        foreign_model(arrays() | {"readout.bias": np.zeros(2)}, DESCRIPTION)


@pytest.mark.parametrize("where", [None, "first", "last"])
def test_the_context_is_that_of_the_tokens(where):
    """T positions, or T + 1 with one for [CLS]: the same context is right; null is as good as nothing."""
    tensors = arrays()
    tensors["positions"] = np.zeros((T if where is None else T + 1, D))
    model = tabulate(foreign_model(tensors, DESCRIPTION | {"context": T, "cls_at": where}))
    assert model.tokens == T


def test_the_description_shown_is_one():
    """The description of the module's own text, its remarks left out, is read; every field is in it."""
    shown = foreign.__doc__.split("::")[1].split("The model is")[0]
    lines = [re.match(r'( *(?:"\w+": (?:"[\w.]+"|[\w.-]+|\{),?|[{}]))', line) for line in shown.splitlines()]
    described = json.loads("\n".join(line[1] for line in lines if line))
    assert set(described) == foreign.FIELDS
    assert tabulate(foreign_model(arrays(), described | {"context": T})).tokens == T


def test_the_tables_are_those_of_the_layer():
    """One layer tabulates; its context and alphabet are those of the tensors."""
    model = tabulate(foreign_model(arrays(), DESCRIPTION))
    assert (model.tokens, model.symbols, len(model.heads)) == (T, A, HEADS)
