"""The trained adders of evindor/MicroAdder, described for `keyhole prove`.

    keyhole prove checkpoint_133p.pt --architecture examples/micro_adder.py --claim addition:10

A description is a Python file with a function `describe`: the tensors of a checkpoint in, a step model and the form of
its prompts out. All twelve published models have one layer whose rows are two numbers of the token and three or four
of the position. Queries and keys read the position, values read the token.
"""

import math
from collections.abc import Mapping

import numpy as np

from keyhole.attention import GELU, Affine, FeedForward, RMSNorm, StepHead, StepModel
from keyhole.languages import Prompt

PLUS, EQUALS, END = 10, 11, 12  # of models with 14 symbols; those with 10 show a 0 at these places


def describe(tensors: Mapping[str, np.ndarray]) -> tuple[StepModel, Prompt]:
    """Return the model that these tensors define, and how it is shown two numbers."""
    tokens, places = token_rows(tensors), position_rows(tensors)
    symbols, seen = tokens.shape
    width = seen + places.shape[1]
    embedding = np.zeros((len(places), symbols, width))
    embedding[:, :, :seen] = tokens
    embedding[:, :, seen:] = places[:, None]
    head = tensors["head_proj.weight"]
    norms = [one(tensors, f"{name}.weight", f"{other}.weight") for name, other in NORMS]
    second = last(tensors, "fc2.weight")
    feed = FeedForward(
        Affine(last(tensors, "fc1.weight").T, last(tensors, "fc1.bias")),
        GELU(),
        Affine(head if second is None else second.T, last(tensors, "fc2.bias")),
    )
    model = StepModel(
        embedding,
        norm=(RMSNorm(norms[0]),),
        heads=heads(tensors, seen, width),
        branches=((RMSNorm(norms[1]), feed),),
        readout=(RMSNorm(norms[2]), Affine(head.T @ tokens.T)),
    )
    with_end = symbols > 10
    return model, Prompt(
        between=(PLUS if with_end else 0,), after=(EQUALS if with_end else 0,), end=(END,) if with_end else ()
    )


NORMS = (("ln1", "norm1"), ("ln2", "norm2"), ("ln_f", "norm_f"))


def token_rows(tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Two numbers for each token: stored, or a point of an ellipse at an angle that grows with the digit."""
    if "tok_emb.weight" in tensors:
        return tensors["tok_emb.weight"]
    angle = tensors["tok_arc_start"] + np.arange(10) * tensors["tok_arc_stride"]
    across = tensors["tok_arc_A"]
    return np.stack([across * np.cos(angle), tensors.get("tok_arc_B", across) * np.sin(angle)], axis=1)


def position_rows(tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """A row for each position: a, plus, b, equals, the answer, the end; digit i of a, b and the answer share one."""
    digit = np.arange(10.0)
    angle = 2 * math.pi * digit / 10 + tensors["spiral_phase"]
    across = tensors["spiral_amp"]
    along = tensors["spiral_slope"] * digit + tensors["spiral_offset"]
    spiral = np.stack([across * np.cos(angle), across * np.sin(angle), along], axis=1)
    if "pos_correction" in tensors:
        spiral = spiral * (1 + tensors["pos_correction"])[:, None]
    elif "pos_corr_slope" in tensors:
        spiral = spiral * (1 + tensors["pos_corr_intercept"] + tensors["pos_corr_slope"] * digit)[:, None]
    if "special_pos" in tensors:
        special = tensors["special_pos"]
    elif "special_pos_learned" in tensors:
        special = np.concatenate([tensors["special_pos_learned"], tensors["_eos_pos"]])
    else:
        special = np.concatenate([tensors["_plus_pos"], tensors["special_pos_equals"], tensors["_eos_pos"]])
    plus, equals, end = special[:1], special[1:2], special[2:3]
    spiral = np.pad(spiral, ((0, 0), (0, special.shape[1] - 3)))
    return np.concatenate([spiral, plus, spiral, equals, spiral, tensors["z_hi_pos"], end])


def heads(tensors: Mapping[str, np.ndarray], seen: int, width: int) -> tuple[StepHead, ...]:
    """One head, or two in models whose rows have six numbers; keys may be tied to queries, values to the read-out."""
    queries, keys, values = (last(tensors, f"{name}_proj.weight") for name in "qkv")
    values = tensors["head_proj.weight"].T if values is None else values
    keys = queries if keys is None else keys
    count = 2 if queries.shape[0] == 6 and width == 6 else 1
    wide, read = queries.shape[0] // count, values.shape[0] // count
    phase, low, high = (last(tensors, name) for name in ("q_phase_angle", "out_proj.A", "out_proj.B"))
    made = []
    for head in range(count):
        rows, outs = slice(head * wide, (head + 1) * wide), slice(head * read, (head + 1) * read)
        query, key, value = np.zeros((width, wide)), np.zeros((width, wide)), np.zeros((width, read))
        query[seen:], key[seen:], value[:seen] = queries[rows].T, keys[rows].T, values[outs].T
        if phase is not None:  # neighbouring coordinates of the query are turned by an angle
            cos, sin = np.cos(phase[head]), np.sin(phase[head])
            paired = wide // 2 * 2
            even, odd = query[:, 0:paired:2].copy(), query[:, 1:paired:2].copy()
            query[:, 0:paired:2], query[:, 1:paired:2] = even * cos - odd * sin, even * sin + odd * cos
        if low is None:
            chain, output = (Affine(value),), (Affine(last(tensors, "out_proj.weight")[:, outs].T),)
        else:
            chain, output = (Affine(value), Affine(low[outs])), (Affine(high),)
        made.append(StepHead((Affine(query),), (Affine(key),), chain, output, scale=math.sqrt(wide)))
    return tuple(made)


def last(tensors: Mapping[str, np.ndarray], ending: str) -> np.ndarray | None:
    """Return the tensor whose name ends so, or None."""
    return next((tensor for name, tensor in tensors.items() if name.endswith(ending)), None)


def one(tensors: Mapping[str, np.ndarray], *endings: str) -> np.ndarray:
    """Return the first tensor with one of these endings."""
    return next(tensor for ending in endings if (tensor := last(tensors, ending)) is not None)
