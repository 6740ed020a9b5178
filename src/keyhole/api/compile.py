"""Compile: a sparse Boolean function into weights that compute it, with a proof for every input."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.boolean import SparseFunction, read_function
from keyhole.bounds.covers import scalar_model_cover
from keyhole.compiler import Charge, cheapest, choose, compile_choice, compiled, path_inf, product_law
from keyhole.compiler.constructions import Construction
from keyhole.compiler.export import pictures, save_model
from keyhole.errors import ArgumentError, OutputError
from keyhole.norm_profile import NormProfile
from keyhole.show.compiled import compiled_document
from keyhole.show.document import Document
from keyhole.show.site import save_figure

COVER_SAMPLES = 1e6  # the capacity of covers holds log m; its least mass hardly moves with m


def cover_capacity(profile: NormProfile) -> float:
    """What the cover route charges: the capacity C of Theorem S, which sees logits and read-outs."""
    return scalar_model_cover(profile, COVER_SAMPLES).capacity


CHARGES = {"path_inf": path_inf, "product": product_law, "cover": cover_capacity}
MODELS = (".safetensors", ".py")  # endings of files that have the weights


@dataclass(frozen=True, eq=False, repr=False)
class Compiled(compiled.Compiled, Result):
    """Weights that compute a function, with their certificate."""

    schema: ClassVar[str] = "compile/1"

    @property
    def summary(self) -> str:
        """Function, context, construction and margin."""
        return repr(self)

    def document(self) -> Document:
        """What was made, what was proved, the norms beside the theorem's figures, and the number formats."""
        return compiled_document(self.record())

    def save(self, path: str | Path) -> Path:
        """Write the weights as .safetensors or .py (a torch module), or the answer as .json, .txt or .html."""
        path = Path(path)
        return save_model(self, path) if path.suffix.lower() in MODELS else super().save(path)

    @classmethod
    def require_ending(cls, path: Path) -> None:
        """Refuse a name that says no format, before anything is computed for it."""
        endings = (*MODELS, ".json", ".txt", ".html")
        if path.suffix.lower() not in endings:
            raise OutputError(f"{str(path)!r} ends in none of {', '.join(endings)}; use one of them.")

    def pictures(self, folder: str | Path) -> tuple[Path, ...]:
        """Draw attention, weights and response into a folder, and return the files."""
        drawn = pictures(self.plan)
        return tuple(save_figure(figure, Path(folder) / f"{name}.svg") for name, figure in drawn.items())


def compile(  # noqa: A001  (the name of the question)
    function: str | SparseFunction,
    context: int,
    *,
    construction: str | Construction = "auto",
    gamma: float = 0.5,
    rho: float = 0.5,
    output: str = "signs",
    seed: int = 0,
    minimise: str | Charge | None = None,
    carry: str | None = None,
) -> Compiled:
    """Exact weights of one attention layer for a function of T bits, certified on all 2^T inputs.

    A construction is "auto" (the cheapest), "pair", "additive", "codes", "heads", "veto", "least", the name of a
    registered one, or a Construction of your own.
    `gamma` is the attention mass off the relevant positions (pair, veto, least), `rho` the leak ratio of the others.
    With `minimise` that mass is chosen instead, so that a charge is least: "path_inf" (Theorem T: P_∞ Φ(R)), "product"
    (P_∞ alone, whatever the scores: where positions are independent), or any function of the norms, such as a bound's
    capacity ("cover": that of Theorem S). With `carry` a number format must be proved to keep every sign.

    >>> compile("x3 & x17 & x40", 1_000_000)
    Compiled('x3 & x17 & x40', context=1000000, A2, 2 units, margin 0.999999 on all 2^1000000 inputs)
    """
    if isinstance(function, str):
        function = read_function(function, seed)
    if minimise is None:
        choice = choose(function, context, construction, output=output, seed=seed, gamma=gamma, rho=rho)
        return _displayed(compile_choice(choice, carry))
    if isinstance(minimise, str) and minimise not in CHARGES:
        raise ArgumentError(f"There is no charge {minimise!r} to minimise; use {', '.join(CHARGES)}, or a function.")
    charge = CHARGES[minimise] if isinstance(minimise, str) else minimise
    return _displayed(
        compile_choice(cheapest(charge, function, context, construction, output=output, seed=seed), carry)
    )


def _displayed(made: compiled.Compiled) -> Compiled:
    """The same value, which displays and saves itself."""
    return Compiled(**{entry.name: getattr(made, entry.name) for entry in fields(made)})
