"""A compiled model as one Python file: a plain torch.nn.Module that needs torch alone.

The weights stand in the file itself, as compressed text that is read back bit for bit: one file cannot lose its
weights, and reading it runs nothing but what it shows.
"""

from base64 import b85encode
from string import Template
from textwrap import indent
from zlib import compress

import numpy as np

from keyhole.compiler.constructions.plan import Plan
from keyhole.compiler.export.residual import to_residual
from keyhole.compiler.proof import Proof

LINE = 100  # characters of packed text in a line
SHOWN = 2000  # characters of a formula in the header
ARRAYS = (
    "embed", "position", "query", "key", "value", "output", "inner", "inner_bias", "outer", "unembed",
)  # fmt: skip

MODULE = Template('''\
"""$formula

A one-layer transformer that computes this function of $context bits exactly; nothing was trained.

Construction   $construction
Output         $output
Margin         at least $margin on every one of the 2^$context inputs (in exact arithmetic on these weights)
Proof          $method
Attention      at most $leak off the relevant positions, by every head that is read
Positions      $positions

    model = Compiled()                  # double precision; .to(dtype) for another
    model(bits)                         # (n, $context) of 0/1 in, (n,) out
    model.attention(bits)               # (n, heads, $length): what [CLS], the last token, attends to

Needs torch alone.
"""

import base64
import math
import zlib

import torch

CONTEXT = $context
PAIRED = $paired  # a token is 2t + b_t where it names its position, and b_t where it does not; [CLS] is the last
$names
# Each array: its shape, and its float64 numbers (little-endian), deflated, as base-85 text.
ARRAYS = {
$arrays}


def unpacked(name):
    """An array of the file as a tensor."""
    shape, text = ARRAYS[name]
    numbers = bytearray(zlib.decompress(base64.b85decode(text)))
    return torch.frombuffer(numbers, dtype=torch.float64).reshape(shape).clone()


class Compiled(torch.nn.Module):
    """Embed, attend from [CLS], add, feed forward, add, unembed; every direction of the stream has a name."""

    def __init__(self):
        super().__init__()
        self.W_E, self.W_pos = (torch.nn.Parameter(unpacked(name)) for name in ("embed", "position"))
        self.W_Q, self.W_K, self.W_V, self.W_O = (
            torch.nn.Parameter(unpacked(name)) for name in ("query", "key", "value", "output")
        )
        self.W_in, self.b_in, self.W_out = (
            torch.nn.Parameter(unpacked(name)) for name in ("inner", "inner_bias", "outer")
        )
        self.W_U = torch.nn.Parameter(unpacked("unembed"))
        self.directions, self.units = DIRECTIONS, UNITS

    def tokens(self, bits):
        """Token numbers (n, T + 1) of a batch of bits (n, T), [CLS] last."""
        if bits.ndim != 2 or bits.shape[1] != CONTEXT:
            raise ValueError(f"bits of shape (n, {CONTEXT}) are read; got {tuple(bits.shape)}")
        if not bool(((bits == 0) | (bits == 1)).all()):
            raise ValueError("bits are 0 or 1")
        bits = bits.long()
        if PAIRED:
            bits = bits + 2 * torch.arange(CONTEXT, device=bits.device)
        return torch.nn.functional.pad(bits, (0, 1), value=len(self.W_E) - 1)

    def attention(self, bits):
        """The attention of [CLS], (n, heads, T + 1); the other queries are not needed for the output."""
        cls = self.W_E[-1] + self.W_pos[-1]
        query = torch.einsum("d,hde->he", cls, self.W_Q)
        # a token's key needs no (n, T + 1, d) array: it is its token's key plus its position's
        folded = torch.einsum("hde,he->dh", self.W_K, query) / math.sqrt(self.W_Q.shape[-1])
        scores = (self.W_E @ folded)[self.tokens(bits)] + self.W_pos @ folded
        return scores.softmax(dim=1).transpose(1, 2)

    def stream(self, bits):
        """The residual stream at [CLS] after attention and after the feed-forward part, each (n, d)."""
        pattern, tokens = self.attention(bits), self.tokens(bits)
        middle = self.W_E[-1] + self.W_pos[-1]
        for head in range(pattern.shape[1]):
            values = (self.W_E @ self.W_V[head])[tokens] + self.W_pos @ self.W_V[head]
            gathered = torch.einsum("nt,nte->ne", pattern[:, head], values)
            middle = middle + gathered @ self.W_O[head]
        hidden = torch.relu(middle @ self.W_in + self.b_in)
        return middle, middle + hidden @ self.W_out

    def forward(self, bits):
        """The function: $reads."""
        return (self.stream(bits)[1] @ self.W_U)[:, 0]
''')


def torch_source(plan: Plan, proof: Proof) -> str:
    """The text of the module: what it computes, what was proved of it, and its weights."""
    block = to_residual(plan)
    formula = str(plan.function)
    return MODULE.substitute(
        formula=(formula if len(formula) <= SHOWN else f"A function of {plan.function.sparsity} bits."),
        context=plan.context,
        length=plan.context + 1,
        construction=plan.construction,
        output="1 where it is true, -1 where not" if plan.output == "signs" else "1 where it is true, 0 where not",
        margin=f"{proof.margin!r}",
        method=proof.method,
        leak=f"{proof.leak!r}",
        positions=", ".join(map(str, plan.function.positions)) if len(formula) <= SHOWN else "see DIRECTIONS",
        paired=block.paired,
        names=names_in_source("DIRECTIONS", block.directions) + names_in_source("UNITS", block.units),
        arrays=packed_arrays({name: getattr(block, name) for name in ARRAYS}),
        reads="(n, T) bits in, (n,) numbers out",
    )


def packed_arrays(arrays: dict[str, np.ndarray]) -> str:
    """Arrays as lines of the module: each shape, and its numbers as text."""
    packed = ""
    for name, array in arrays.items():
        text = b85encode(compress(array.astype("<f8").tobytes(), 6)).decode()
        lines = "".join(f'    "{text[start : start + LINE]}"\n' for start in range(0, len(text), LINE))
        packed += f'"{name}": ({array.shape}, (\n{lines})),\n'
    return indent(packed, "    ")


def names_in_source(title: str, names: tuple[str, ...]) -> str:
    """A tuple of names, as many in a line as fit."""
    lines, line = [], ""
    for name in names:
        if len(line) + len(name) + 6 > LINE:
            lines.append(line)
            line = ""
        line += f"{name!r}, "
    return f"{title} = (\n" + "".join(f"    {text.rstrip()}\n" for text in [*lines, line]) + ")\n"
