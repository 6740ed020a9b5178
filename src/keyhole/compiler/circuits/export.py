"""A compiled circuit for other programs: TransformerLens, and one Python file that needs torch alone."""

from string import Template
from typing import Any

import numpy as np

from keyhole.compiler.circuits.dense import DenseCircuit, to_dense
from keyhole.compiler.circuits.plan import CircuitPlan
from keyhole.compiler.circuits.proof import CircuitProof
from keyhole.compiler.export.lens import boot
from keyhole.compiler.export.torch_source import names_in_source, packed_arrays

SHOWN = 2000  # characters of a circuit in a header


def circuit_lens_config(dense: DenseCircuit) -> dict[str, Any]:
    """Return the configuration for HookedTransformerConfig.from_dict."""
    layers, heads, d, k = dense.query.shape
    return {
        "n_layers": layers,
        "d_model": d,
        "n_ctx": dense.tokens,
        "d_head": k,
        "n_heads": heads,
        "d_mlp": dense.inner.shape[2],
        "d_vocab": 3,
        "d_vocab_out": 1,
        "act_fn": "relu",
        "attn_only": False,
        "normalization_type": None,
        "attention_dir": "causal" if dense.causal else "bidirectional",
        "positional_embedding_type": "standard",
        "default_prepend_bos": False,
        "init_weights": False,
        "device": "cpu",
    }


def circuit_lens_state(dense: DenseCircuit) -> dict[str, np.ndarray]:
    """Every parameter of HookedTransformer by its name; biases that are not used are 0."""
    layers, heads, d, k = dense.query.shape
    state = {
        "embed.W_E": dense.embed,
        "pos_embed.W_pos": dense.position,
        "unembed.W_U": dense.unembed,
        "unembed.b_U": np.zeros(1),
    }
    for layer in range(layers):
        parts = {"Q": dense.query, "K": dense.key, "V": dense.value, "O": dense.output}
        state |= {f"blocks.{layer}.attn.W_{part}": array[layer] for part, array in parts.items()}
        state |= {f"blocks.{layer}.attn.b_{part}": np.zeros((heads, k)) for part in "QKV"}
        state |= {
            f"blocks.{layer}.attn.b_O": np.zeros(d),
            f"blocks.{layer}.mlp.W_in": dense.inner[layer],
            f"blocks.{layer}.mlp.b_in": dense.inner_bias[layer],
            f"blocks.{layer}.mlp.W_out": dense.outer[layer],
            f"blocks.{layer}.mlp.b_out": np.zeros(d),
        }
    return state


def circuit_to_lens(dense: DenseCircuit) -> Any:
    """The circuit in double precision: `model(dense.words(bits))[:, T + g, 0]` is 1 where gate g is true, −1 where not.

    Of steps, the answer at slot g counts once the slots before it are filled.
    """
    return boot(circuit_lens_config(dense), circuit_lens_state(dense))


ARRAYS = ("embed", "position", "query", "key", "value", "output", "inner", "inner_bias", "outer", "unembed")
MODULE = Template('''\
"""$circuit

A transformer of $layers that computes this circuit on $context bits exactly; nothing was trained.

Proof    every gate is right on every one of the 2^$context inputs (in exact arithmetic on these weights)
Leak     at most $leak of a head's attention is off its wire
Slack    at least $slack between a hidden ramp's argument and its bend
Slots    gate g stands at token $context + g; DIRECTIONS names every coordinate, UNITS the gate of every hidden unit

    model = Compiled()                  # double precision; .to(dtype) for another
    model(bits)                         # (n, $context) of 0/1 in, (n,) out: 1 where the output is true, -1 where not
    model.slots(bits)                   # (n, $gates): the same of every gate

Needs torch alone.
"""

import base64
import math
import zlib

import torch

CONTEXT = $context
GATES = $gates
STEPS = $steps  # one causal layer, run once for each gate; else the layers fill all slots in one pass
EMPTY = 2  # the symbol of a slot that shows nothing yet
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
    """Embed; in each layer attend, add, feed forward, add; unembed. Every direction of the stream has a name."""

    def __init__(self):
        super().__init__()
        names = ("W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_in", "b_in", "W_out", "W_U")
        for name, array in zip(names, ARRAYS):
            self.register_parameter(name, torch.nn.Parameter(unpacked(array)))
        self.directions, self.units = DIRECTIONS, UNITS

    def attention(self, stream, layer):
        """The pattern (n, heads, queries, tokens) of a layer."""
        query = torch.einsum("ntd,hdk->nhtk", stream, self.W_Q[layer])
        key = torch.einsum("ntd,hdk->nhtk", stream, self.W_K[layer])
        scores = query @ key.transpose(2, 3) / math.sqrt(self.W_Q.shape[-1])
        if STEPS:
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(hidden, -math.inf)
        return scores.softmax(dim=-1)

    def answers(self, words):
        """The number at every token (n, tokens) after the last layer."""
        stream = self.W_E[words] + self.W_pos[: words.shape[1]]
        for layer in range(self.W_Q.shape[0]):
            values = torch.einsum("ntd,hdk->nhtk", stream, self.W_V[layer])
            mixed = self.attention(stream, layer) @ values
            stream = stream + torch.einsum("nhtk,hkd->ntd", mixed, self.W_O[layer])
            hidden = torch.relu(stream @ self.W_in[layer] + self.b_in[layer])
            stream = stream + hidden @ self.W_out[layer]
        return (stream @ self.W_U)[..., 0]

    def slots(self, bits):
        """The values of all gates: 1 where true, -1 where not."""
        if bits.ndim != 2 or bits.shape[1] != CONTEXT:
            raise ValueError(f"bits of shape (n, {CONTEXT}) are read; got {tuple(bits.shape)}")
        if not bool(((bits == 0) | (bits == 1)).all()):
            raise ValueError("bits are 0 or 1")
        words = torch.nn.functional.pad(bits.long(), (0, GATES), value=EMPTY)
        if not STEPS:
            return self.answers(words)[:, CONTEXT:]
        found = []
        for place in range(CONTEXT, CONTEXT + GATES):
            found.append(self.answers(words[:, : place + 1])[:, place])
            words[:, place] = (found[-1] > 0).long()
        return torch.stack(found, dim=1)

    def forward(self, bits):
        """The output gate: (n, T) bits in, (n,) numbers out."""
        return self.slots(bits)[:, -1]
''')


def circuit_torch_source(plan: CircuitPlan, proof: CircuitProof) -> str:
    """The text of the module: what it computes, what was proved of it, and its weights."""
    dense, text = to_dense(plan), str(plan.circuit)
    layers = len(dense.query)
    return MODULE.substitute(
        circuit=text if len(text) <= SHOWN else f"A circuit of {len(plan.circuit.gates)} gates.",
        layers="1 layer, run step by step," if dense.causal else f"{layers} layer{'s' * (layers != 1)}",
        context=plan.context,
        gates=len(plan.circuit.gates),
        leak=f"{proof.leak!r}",
        slack=f"{proof.slack!r}",
        steps=dense.causal,
        names=names_in_source("DIRECTIONS", dense.directions)
        + "".join(names_in_source(f"UNITS_{layer}", names) for layer, names in enumerate(dense.units))
        + f"UNITS = ({', '.join(f'UNITS_{layer}' for layer in range(layers))},)\n",
        arrays=packed_arrays({name: getattr(dense, name) for name in ARRAYS}),
    )
