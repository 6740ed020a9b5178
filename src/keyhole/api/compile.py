"""Compile: a sparse Boolean function into weights that compute it, with a proof for every input."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.boolean import SparseFunction, read_function
from keyhole.bounds.covers import scalar_model_cover
from keyhole.compiler import Charge, cheapest, choose, compiled, path_inf, product_law, to_residual, token_ids
from keyhole.compiler.constructions import Construction
from keyhole.compiler.export import attention_figure, head_record, save_model, to_lens, torch_source
from keyhole.decimals import at_least, at_most, margin
from keyhole.errors import ArgumentError, MissingError, adding, require_whole
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.norm_profile import NormProfile
from keyhole.show.answer import Show, shorten
from keyhole.show.page import head_page

COVER_SAMPLES = 1e6  # the capacity of covers holds log m; its least mass hardly moves with m


def cover_capacity(profile: NormProfile) -> float:
    """Return the charge of the cover route: the capacity C of Theorem S, which sees logits and read-outs."""
    return scalar_model_cover(profile, COVER_SAMPLES).capacity


CHARGES = {"path_inf": path_inf, "product": product_law, "cover": cover_capacity}


@dataclass(frozen=True, eq=False, repr=False)
class Compiled(compiled.Compiled, Result):
    """Weights that compute a function, with their certificate."""

    schema: ClassVar[str] = "compile/1"
    endings: ClassVar[tuple[str, ...]] = (".safetensors", ".py", ".cert")  # weights, and the proof

    def lines(self, show: Show) -> None:
        """Say what was proved, the size, and the number formats."""
        show.line(f"PROVED right on all {self.inputs_covered} inputs, margin {margin(self.margin)}")
        size = f"{_count(self.heads, 'head')}, {_count(self.width, 'hidden unit')}"
        show.line(f"{size}, P_∞ = {at_most(self.norms['path_inf'], 6)} (construction {self.construction})")
        for outcome, words in OUTCOMES.items():
            names = [_pair(name) for name, each in self.formats.items() if each == outcome]
            if names:
                show.line(f"{', '.join(names)} {words}")
        if not show.verbose:
            return
        show.facts(self._facts())
        show.table(
            {"norm": "<", "measured": "<", "theorem": "<"},
            [(name, f"{value:.6g}", self._figure_of(name)) for name, value in self.norms.items()],
        )
        show.line(ABOUT)
        show.facts((_pair(name), str(verdict)) for name, verdict in self.rounding.items())
        show.line(f"Here {self.rounding_assumes}.")

    def _facts(self) -> Iterator[tuple[str, str]]:
        wanted, threshold = ("1 or −1", "0") if self.output == "signs" else ("1 or 0", "0.5")
        yield "function", shorten(self.function)
        yield "context", f"T = {self.context}, embedding dimension {self.dimension}"
        yield "construction", shorten(self.why, 400)
        yield "proof", f"by cases: {self.method}"
        yield "output", f"{wanted}, off by at most {at_most(self.error, 2)}; the threshold is {threshold}"
        yield "leak", f"at most {at_most(self.leak, 9)} of a head's attention is off the relevant positions"
        floor = at_least(self.logit_floor, 6)
        yield "scores", f"span {self.logit_scale:.6g}; a model of this margin and these output norms needs {floor}"

    def _figure_of(self, norm: str) -> str:
        """The theorem's figure for a norm: a bound to its safe side, an equal number to the nearest."""
        figure = self.theorem.get(norm)
        if figure is None:
            return ""
        return f"≤ {at_most(figure.value, 6)}" if figure.relation == "≤" else f"= {figure.value:.6g}"

    def figure(self) -> Figure:
        """Draw the attention of [CLS]."""
        return attention_figure(self.plan)

    def page(self) -> str:
        """Return one page of HTML that needs no server: the head, its proof, an input to flip and weights to edit."""
        claim, weights = head_record(self.plan, self.proof)
        lead = (
            f"{_count(self.heads, 'attention head')} and {_count(self.width, 'unit')} that compute this function of "
            f"{self.context} bits by construction {self.construction}. Nothing was trained."
        )
        return head_page(shorten(self.function), lead, claim, weights)

    def to_torch(self) -> Any:
        """Return a torch module, bits (n, T) in and numbers (n,) out; its source is what `save("model.py")` writes."""
        if find_spec("torch") is None:
            raise MissingError(f"A torch module was asked for, and torch is not installed; run: {adding('torch')}")
        names: dict[str, Any] = {"__name__": "keyhole_compiled"}
        exec(torch_source(self.plan, self.proof), names)  # noqa: S102  (text that keyhole writes)
        return names["Compiled"]()

    def to_lens(self) -> Any:
        """Return a model of TransformerLens: feed it `token_ids`, read `model(tokens)[:, -1, 0]`."""
        return to_lens(to_residual(self.plan))

    def token_ids(self, bits: Any) -> np.ndarray:
        """Return the tokens of bits (n, T) for `to_lens`, [CLS] last."""
        return np.asarray(token_ids(to_residual(self.plan), np.asarray(bits)))

    def save(self, path: str | Path) -> Path:
        """Write weights (.safetensors, .py for torch), what proves them (.html, .cert), or the answer."""
        path = Path(path)
        if path.suffix.lower() == ".html":
            return write_file(path, self.page().encode())
        if path.suffix.lower() == ".cert":
            from keyhole.api.proof_file import of_compiled

            return write_file(path, of_compiled(self).encode())
        return save_model(self, path) if path.suffix.lower() in self.endings else super().save(path)


OUTCOMES = {
    "proved": "keep every answer right",
    "tried": "kept right every answer that was tried",
    "refuted": "lost an answer",
}
ABOUT = (
    "M is the score matrix, W_V the value matrix; 21 sums the lengths of columns, transposed_21 those of rows. path is "
    "the sum over hidden units of |read-out weight| times the length of the unit's column of W_V; path_inf takes the "
    "unit's largest |value| of a token. theorem: what the construction's theorem says."
)


def _pair(formats: str) -> str:
    return formats.replace(" stored, ", " / ").removesuffix(" summed")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def compile(  # noqa: A001  (the name of the question)
    function: str | SparseFunction,
    context: int,
    *,
    construction: str | Construction = "auto",
    leak: float = 0.5,
    output: str = "signs",
    seed: int = 0,
    minimise: str | Charge | None = None,
) -> Compiled:
    """Compile a function of T bits into exact weights of one attention layer, certified on all 2^T inputs.

    A construction is "auto" (the cheapest), "pair", "additive", "codes", "heads", "veto", "least", the name of a
    registered one, or a Construction of your own. `leak` is the attention off the relevant positions (pair, veto,
    least), or its ratio to the attention on one of them (additive, codes, heads). With `minimise` the leak is chosen,
    so that a charge is least: "path_inf" (Theorem T: P_∞ Φ(R)), "product" (P_∞ alone, whatever the scores: where
    positions are independent), "cover" (the capacity of Theorem S), or any function of the norms.

    >>> compile("x3 & x17 & x40", 1_000_000)
    Compiled('x3 & x17 & x40', context=1000000, A2, 2 units, margin 0.999999 on all 2^1000000 inputs)
    """
    require_whole(context=context, seed=seed)
    if isinstance(function, str):
        function = read_function(function, seed)
    if minimise is None:
        return Compiled.from_choice(choose(function, context, construction, output=output, seed=seed, leak=leak))
    if isinstance(minimise, str) and minimise not in CHARGES:
        raise ArgumentError(f"The charge {minimise!r} is unknown; use {', '.join(CHARGES)}, or a function.")
    charge = CHARGES[minimise] if isinstance(minimise, str) else minimise
    return Compiled.from_choice(cheapest(charge, function, context, construction, output=output, seed=seed))
