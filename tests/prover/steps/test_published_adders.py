"""Published adders, where their checkpoints are: a plain pass in single precision agrees with the verdicts."""

import importlib.util
import math
import os
from pathlib import Path

import numpy as np
import pytest

from keyhole.checkpoints import read_step_model
from keyhole.languages import read_columns
from keyhole.prover.steps.proof import prove_columns

FOLDER = Path(os.environ.get("KEYHOLE_ADDERS", "/nowhere"))
DESCRIPTION = Path(__file__).parents[3] / "examples" / "micro_adder.py"

pytestmark = [
    pytest.mark.extra("torch"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is an extra"),
    pytest.mark.skipif(not FOLDER.is_dir(), reason="KEYHOLE_ADDERS names no folder with the checkpoints"),
]


def plain_sums(state, first, second):
    """What the 226-parameter model writes after two numbers, in float32, by a pass of torch written out."""
    import torch

    tokens, special = state["tok_emb.weight"], state["special_pos"]
    digit = torch.arange(10)
    angle = 2 * math.pi * digit / 10 + state["spiral_phase"]
    spiral = torch.stack(
        [
            state["spiral_amp"] * torch.cos(angle),
            state["spiral_amp"] * torch.sin(angle),
            state["spiral_slope"] * digit + state["spiral_offset"],
        ],
        dim=1,
    )
    spiral = spiral * (1 + state["pos_correction"])[:, None]
    places = torch.cat([spiral, special[:1], spiral, special[1:2], spiral, state["z_hi_pos"], special[2:3]])

    def named(ending):
        return next(tensor for name, tensor in state.items() if name.endswith(ending))

    def normed(x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * named(name)

    digits = [[n // 10**i % 10 for i in range(10)] for n in (first, second)]
    word, width = [*digits[0], 10, *digits[1], 11], tokens.shape[1]
    for _ in range(12):
        x = torch.cat([tokens[word], places[: len(word)]], dim=1)
        seen = normed(x, "ln1.weight")
        query, key = (seen[:, width:] @ named(f"{which}_proj.weight").T for which in "qk")
        value = seen[:, :width] @ named("v_proj.weight").T
        outs = []
        for head in range(2):
            part = slice(head * 3, head * 3 + 3)
            scores = (query[-1:, part] @ key[:, part].T) / math.sqrt(3)
            outs.append(torch.softmax(scores, dim=-1) @ value[:, part])
        row = x[-1:] + torch.cat(outs, dim=1) @ named("out_proj.weight").T
        units = normed(row, "ln2.weight") @ named("fc1.weight").T + named("fc1.bias")
        row = row + torch.nn.functional.gelu(units) @ named("fc2.weight").T + named("fc2.bias")
        word.append(int((normed(row, "ln_f.weight") @ state["head_proj.weight"].T @ tokens.T).argmax()))
    return word[22:]


def state_of(name):
    """The tensors of a checkpoint."""
    import torch

    return torch.load(FOLDER / name, map_location="cpu", weights_only=True)["model_state_dict"]


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [(9999999999, 9999999999, 9), (9999999999, 9899999999, 9), (0, 0, 0), (0, 1, 0), (1234567890, 9876543210, 12)],
)
def test_the_symbol_after_the_answer(first, second, wrong):
    """The largest sum is followed by a 9 and not by an end, so that it is read as 9·10^11 too much; 0 + 0 by a 0."""
    state = state_of("checkpoint_226p.pt")
    written = plain_sums(state, first, second)
    total = first + second
    assert written[:11] == [total // 10**i % 10 for i in range(11)]
    assert written[11] == wrong
    model, prompt = read_step_model(FOLDER / "checkpoint_226p.pt", DESCRIPTION)
    shown = [*(first // 10**i % 10 for i in range(10)), *prompt.between]
    shown += [*(second // 10**i % 10 for i in range(10)), *prompt.after]
    assert model.written(np.array([shown]), 12)[0].tolist() == written


@pytest.mark.long
def test_a_published_adder_is_proved():
    """The 57-parameter adder is right on 10^20 sums, with 99 % of the least margin met."""
    model, prompt = read_step_model(FOLDER / "checkpoint_57p.pt", DESCRIPTION)
    proof = prove_columns(model, read_columns("addition:10", prompt))
    assert proof.status == "PROVED"
    assert proof.words == 10**20
    assert 0.99 * proof.attained < proof.margin < proof.attained < 1.003
