"""Compile: a circuit into a transformer of several layers, or of several steps, with a proof for every input."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.boolean import Circuit, SparseFunction, largest_sensitivity, read_circuit
from keyhole.compiler import choose, named_norms, plan_profile
from keyhole.compiler.circuits import (
    CircuitPlan,
    CircuitProof,
    LayerNorms,
    Mode,
    circuit_plan,
    layer_norms,
    prove_circuit,
    proved_formats,
    save_circuit,
)
from keyhole.decimals import at_least, at_most, counted
from keyhole.errors import ArgumentError, KeyholeError, require_whole
from keyhole.files.atomic import write_file
from keyhole.files.record import hidden
from keyhole.show.answer import Show, shorten

MAX_ROWS = 8  # layers in a table


@dataclass(frozen=True)
class FlatNorms:
    """The norms of the same function in one layer without slots."""

    construction: str
    heads: int
    units: int
    score_frobenius: float  # ‖M‖_F
    path_inf: float  # P_∞


@dataclass(frozen=True, eq=False, repr=False)
class CompiledCircuit(Result):
    """A transformer that computes every gate of a circuit, with its certificate."""

    schema: ClassVar[str] = "compile-circuit/1"
    endings: ClassVar[tuple[str, ...]] = (".safetensors", ".py", ".cert")  # weights, and the proof

    circuit: str
    context: int
    mode: Mode
    gates: int
    depth: int
    fan_in: int
    function: str | None  # of the output gate; None where it would take too large a table
    sensitivity: int | None
    proof: CircuitProof
    layers: tuple[LayerNorms, ...]
    flat: FlatNorms | None
    formats: tuple[str, ...]  # in which every bit is proved to stay
    plan: CircuitPlan = hidden()

    def lines(self, show: Show) -> None:
        """Say what was proved, the sizes, the norms beside one layer's, and the number formats."""
        size = f"{counted(self.gates, 'gate')} of fan-in {self.fan_in}, depth {self.depth}"
        show.line(f"PROVED right on all 2^{self.context} inputs, gate by gate: {size}")
        passes = "1 causal layer run for each gate" if self.mode == "steps" else counted(len(self.layers), "layer")
        units = sum(layer.units for layer in self.layers)
        show.line(f"{passes}, {counted(self.layers[0].heads, 'head')} each, {counted(units, 'hidden unit')}")
        slack, leak = at_least(self.proof.slack), at_most(self.proof.leak)
        show.line(f"leak ≤ {leak} of a head's attention; hidden ramps stay {slack} from their bends")
        computes = "not settled: its positions are too many" if self.function is None else shorten(self.function, 60)
        show.line(f"output: {computes}")
        names = [name.removesuffix(" summed").replace(" stored, ", " / ") for name in self.formats]
        show.line(f"every bit stays in: {', '.join(names) or 'no number format'}")
        shown = self.layers if show.verbose or len(self.layers) <= MAX_ROWS else self.layers[:MAX_ROWS]
        columns = {"layer": "<", "gates": ">", "heads": ">", "units": ">", "‖M‖_F": ">", "P_∞ of a slot": ">"}
        show.table(columns, [*map(_row, shown), *self._flat_row()])
        if len(shown) < len(self.layers):
            show.line(f"and {counted(len(self.layers) - len(shown), 'more layer')}; -v lists all")
        if show.verbose:
            show.facts([("circuit", shorten(self.circuit, 2000))])
            if self.sensitivity is not None:
                show.facts([("sensitivity", f"{self.sensitivity} bits flip the output of one input at most")])

    def _flat_row(self) -> Iterator[tuple[str, ...]]:
        if self.flat is not None:
            numbers = (at_most(self.flat.score_frobenius), at_most(self.flat.path_inf))
            yield f"flat ({self.flat.construction})", "", str(self.flat.heads), str(self.flat.units), *numbers

    def save(self, path: str | Path) -> Path:
        """Write weights (.safetensors, .py for torch), the proof of every step (.cert), or the answer."""
        path = Path(path)
        if path.suffix.lower() == ".cert":
            from keyhole.api.proof_file import of_steps

            return write_file(path, of_steps(self.plan).encode())
        return save_circuit(self.plan, self.proof, path) if path.suffix.lower() in self.endings else super().save(path)


def compile_circuit(
    circuit: str | Circuit, context: int, mode: Mode = "layers", *, fan_in: int = 3, seed: int = 0
) -> CompiledCircuit:
    """Compile a circuit into exact weights, certified gate by gate on all 2^T inputs.

    A circuit is lines such as "a = x3 & x17; a ^ x40", a family such as "parity:16", or a chain such as
    "chain:parity:16". It is cut into gates of at most `fan_in` wires. "layers" has one layer for each level of gates;
    "steps" has one causal layer that is run once for each gate, and writes the answer into the next slot.

    >>> compile_circuit("parity:16", 100, "steps", fan_in=2).gates
    15
    """
    require_whole(context=context, fan_in=fan_in, seed=seed)
    if mode not in ("layers", "steps"):
        raise ArgumentError(f"The mode {mode!r} is unknown; use layers or steps.")
    if isinstance(circuit, str):
        circuit = read_circuit(circuit, fan_in, seed)
    plan = circuit_plan(circuit, context, mode)
    proof, function = prove_circuit(plan), circuit.function()
    return CompiledCircuit(
        circuit=str(circuit),
        context=context,
        mode=mode,
        gates=len(circuit.gates),
        depth=circuit.depth,
        fan_in=circuit.fan_in,
        function=None if function is None else str(function),
        sensitivity=None if function is None else largest_sensitivity(function),
        proof=proof,
        layers=layer_norms(plan),
        flat=None if function is None else _flat(function, context),
        formats=proved_formats(plan),
        plan=plan,
    )


def _flat(function: SparseFunction, context: int) -> FlatNorms | None:
    """The norms of the one-layer construction, or None where there is none of this function."""
    try:
        plan = choose(function, context).plan
    except KeyholeError:
        return None
    norms = named_norms(plan_profile(plan))
    return FlatNorms(plan.construction, len(plan.heads), plan.width, norms["score_frobenius"], norms["path_inf"])


def _row(layer: LayerNorms) -> tuple[str, ...]:
    counts = (str(layer.layer + 1), str(layer.gates), str(layer.heads), str(layer.units))
    return (*counts, at_most(layer.score_frobenius), at_most(layer.path_inf))
