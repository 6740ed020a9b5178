"""Other bounds on the same norms, each with its source, marked where it is a shape and not a bound."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isfinite, log
from typing import ClassVar, Literal

from keyhole.bounds.covers.calculus import Cover
from keyhole.bounds.covers.chaining import chained_sizes, complexity_of, dudley
from keyhole.bounds.covers.heads import (
    attention_cover,
    readout_norm,
    refuse_projection,
    require_covered,
    scalar_model_cover,
    single_layer,
    token_vectors,
)
from keyhole.bounds.covers.linear import scalar_cover, sparse_matrix_cover, volumetric_size
from keyhole.bounds.derivation import HIDDEN, Complexity, Lemma, Step
from keyhole.bounds.finite.pac_bayes import best_catoni, description_gap, lotfi, mcallester
from keyhole.bounds.theorems.guarantees import guarantee
from keyhole.bounds.theorems.norm_fields import rival_dials, scalar_dials
from keyhole.bounds.theorems.peeling import peel
from keyhole.bounds.theorems.published_shapes import deep_shape, head_shape, risk_shape, scalar_shape, zhang_log_size
from keyhole.bounds.theorems.registry import DEEP, SCALAR, Route
from keyhole.bounds.theorems.risk import deviation
from keyhole.bounds.validate import Real, positive, sample_size
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile
from keyhole.papers import (
    CATONI_2007,
    EDELMAN_2022,
    LOTFI_2023,
    MCALLESTER_1999,
    TRAUGER_2023,
    ZHANG_2002,
    Source,
)

Kind = Literal["bound", "shape with constant 1, not a bound", "remark"]

SHAPE: Kind = "shape with constant 1, not a bound"
RECALLED = Source("recalled", EDELMAN_2022)


@dataclass(frozen=True)
class Rival:
    """Another bound: its number, or why it has none here, what it is a bound on, and how well it is known."""

    key: str
    name: str
    quantity: str
    kind: Kind
    origin: Source = field(metadata=HIDDEN)
    value: float | None = None
    remark: str = ""

    properties: ClassVar[tuple[str, ...]] = ("source", "value_reason")

    @property
    def source(self) -> str:
        """The work that the bound is from."""
        return str(self.origin)

    @property
    def value_reason(self) -> str:
        """The reason why a number is missing or infinite."""
        return self.remark if self.value is None else "" if isfinite(self.value) else "infinite"


FIRST_VERSION = Rival(
    "R7",
    "first version of the paper",
    "two-sided gap",
    "remark",
    Source("read", EDELMAN_2022, "slides"),
    remark="the first version's bound depended on the embedding dimension, the second only by logarithms",
)
IDEA_OF_TRAUGER = Source("ours", TRAUGER_2023, "its idea, our constants")


def parameters(profile: NormProfile) -> int:
    """Numbers that make up the model of a profile: scores, values, inner and output matrices, read-out, trained rows.

    The profile does not say how many gains a LayerNorm has, nor how many constants are added: with these it is refused.
    """
    for block in profile.blocks:
        if block.layernorm != "none" or block.biased:
            raise AssumptionError("The gains of a LayerNorm and the constants of biases are not counted in a profile.")
    last = profile.blocks[-1]
    widths = [head.value.columns for head in last.heads] or [0]
    width = last.output.columns if last.output else sum(widths) if last.concatenated else max(widths)
    total = width + (profile.readout_bias != 0)
    for block in profile.blocks:
        matrices = [matrix for head in block.heads for matrix in (head.score, head.value)]
        matrices += [matrix for matrix in (block.hidden, block.output) if matrix is not None]
        total += sum(matrix.rows * matrix.columns for matrix in matrices)
    width = profile.blocks[0].heads[0].value.rows if profile.blocks and profile.blocks[0].heads else 0
    total += width * (profile.tokens - profile.constant_tokens) * (profile.positions11 is not None)
    total += width * token_vectors(profile) * (profile.embedding11 is not None)
    return int(total)


def first_head(profile: NormProfile) -> HeadNorms:
    """The first head of a one-layer profile, refused where only its tables are known."""
    heads = single_layer(profile).heads
    if not heads:
        raise AssumptionError("This profile has no norm of a matrix: only tables are known of its heads.")
    return heads[0]


def require_plain(profile: NormProfile) -> BlockNorms:
    """The one layer of a profile, refused where it has parts that covers of parameters do not speak of."""
    block = single_layer(profile)
    first_head(profile)
    require_covered(block, profile)
    refuse_projection(profile)
    for there, what in (
        (block.residual, "a residual connection"),
        (profile.positions11 is not None, "trained position codes"),
        (profile.embedding11 is not None, "trained token vectors"),
    ):
        if there:
            raise AssumptionError(f"Covers of parameters do not speak of {what}.")
    return block


def loosened(profile: NormProfile, orientation: Literal["columns", "rows"] = "columns") -> NormProfile:
    """The profile under the recalled constants: softmax constant doubled, (2,1) norm of QK for Frobenius."""

    def loose(head: HeadNorms) -> HeadNorms:
        summed = head.score.columns21 if orientation == "columns" else head.score.rows21
        return replace(head, score=replace(head.score, frobenius=summed), query=None)

    blocks = tuple(replace(block, heads=tuple(map(loose, block.heads))) for block in profile.blocks)
    constant = None if profile.normaliser_constant is None else 2 * profile.normaliser_constant
    return replace(profile, blocks=blocks, normaliser_constant=constant)


def _loose(orientation: Literal["columns", "rows"]) -> Callable[[NormProfile, Real], Complexity]:
    def complexity(profile: NormProfile, samples: Real) -> Complexity:
        route = SCALAR if len(profile.blocks) == 1 else DEEP
        return route.complexity(loosened(profile, orientation), samples)

    return complexity


RECALLED_CONSTANTS = Route(
    "c_N=2", "our calculus with c_N = 2 and ‖M‖₂₁", _loose("columns"), rival_dials("columns21", "columns21")
)
RECALLED_TRANSPOSED = Route(
    "c_N=2ᵀ", "our calculus with c_N = 2 and ‖Mᵀ‖₂₁", _loose("rows"), rival_dials("rows21", "columns21")
)


def length_free_cover(profile: NormProfile, samples: Real) -> Cover:
    """R10, one layer by covers of its parameters: no T anywhere.

    Statement  Values (c, √2‖W_V‖₁₁B_X, log(2kd+1)), scores (c, √2‖M‖₁₁B_X B_Z, log(2d²+1)), read-out as ever.
    Proof      Lemma C in the place of Lemmas B and E.
    Source     Ours, after the idea of Trauger and Tewari 2023.
    """
    block, b_x = require_plain(profile), profile.token_radius
    cover = Cover(())
    for head in block.heads:
        cells = head.value.rows * head.value.columns, head.score.rows * head.score.columns
        cover += attention_cover(
            sparse_matrix_cover(head.score.entries11, b_x * profile.query_radius, cells[1], "scores"),
            sparse_matrix_cover(head.value.entries11, b_x, cells[0], "values"),
            value_radius=head.value.spectral * b_x,
            constant=profile.normaliser_constant,
            normaliser=profile.normaliser,
            output_lipschitz=profile.activation_lipschitz,
        )
    v = readout_norm(profile)
    hidden = profile.activation_lipschitz * b_x * sum(head.value.spectral for head in block.heads)
    return cover.through(v) + scalar_cover(v, hidden, sample_size(samples))


def counted_log_size(profile: NormProfile, accuracy: Real) -> float:
    """Parameter counting: log N(ε) of one layer by volumes, every matrix given an equal part of the error.

    Statement  Σ_j n_j log(1 + 2 F_j b_j c_j J/ε) over the J matrices, n_j entries, Frobenius norm F_j, error
               arriving multiplied by c_j.
    Proof      Lemma D for each matrix; the errors add to ε.
    Source     Textbook.
    """
    block, b_x, lip = require_plain(profile), profile.token_radius, profile.activation_lipschitz
    v, c = readout_norm(profile), profile.normaliser_constant
    if c is None:
        raise AssumptionError(f"Parameter counting needs a smooth normaliser, and {profile.normaliser} is not.")
    part = positive("the accuracy", accuracy) / (2 * len(block.heads) + 1)
    hidden = lip * b_x * sum(head.value.spectral for head in block.heads)
    total = volumetric_size(v, hidden, block.heads[0].value.columns, part) if v else 0.0
    for head in block.heads:
        pairs = (
            (head.value, b_x, v * lip),
            (head.score, b_x * profile.query_radius, v * lip * c * head.value.spectral * b_x),
        )
        for matrix, radius, weight in pairs:
            if weight > 0:
                entries = matrix.rows * matrix.columns
                total += volumetric_size(matrix.frobenius, radius, entries, part / weight)
    return total


COUNTING = Lemma("parameter counting", "log N ≤ Σ_j n_j log(1 + 2F_j b_j/ε_j)", Source("standard"))


def _counted(profile: NormProfile, samples: Real) -> Complexity:
    chain = chained_sizes(lambda accuracy: counted_log_size(profile, accuracy), samples)
    count = float(parameters(profile))
    return Complexity(chain.value, Step("complexity R_m", chain.value, COUNTING, (("parameters", count),)))


LENGTH_FREE = Route(
    "length-free",
    "covers of parameters, no T",
    lambda profile, samples: complexity_of(length_free_cover(profile, samples), samples),
    rival_dials("entries11", "entries11"),
)
PARAMETER_COUNT = Route("counting", "parameter counting", _counted, rival_dials("frobenius", "frobenius"))

STORED_BITS = 32  # each parameter kept as a float32: a description fixed before the data


def rivals(profile: NormProfile, samples: Real, delta: Real = 0.01, *, measured: bool = False) -> tuple[Rival, ...]:
    """Every rival on one profile; one that does not apply has the reason instead of a number.

    For norms `measured` after training every bound by norms pays for that as the theorems do: the class of the norms
    it reads is rounded up, and δ shared. What counts bits reads no norm.
    """
    m = sample_size(samples)
    of_class, nats = peel(profile, scalar_dials(profile)) if measured else (profile, 0.0)
    chance = deviation(m, delta, peeled=nats)

    def bits() -> float:
        return float(STORED_BITS * parameters(profile))

    def no_number() -> float:
        raise AssumptionError(FIRST_VERSION.remark)

    def capacity() -> float:
        return scalar_model_cover(of_class, m).capacity

    def gap(route: Route) -> Callable[[], float]:
        return lambda: guarantee(route, profile, m, delta=delta, measured=measured).value

    def linear() -> float:
        head = first_head(of_class)
        reach = of_class.token_radius * of_class.query_radius
        return zhang_log_size(head.score.frobenius, reach, m * profile.tokens, head.score.frobenius * reach / 10)

    def general() -> float:
        constant = of_class.normaliser_constant
        loose = replace(of_class, normaliser_constant=None if constant is None else 2 * constant)
        return scalar_model_cover(loose, m).capacity

    log_n, c = "log N of the scores at a tenth of their range", "capacity C"
    two, one = "two-sided gap", "one-sided gap"
    standard, stored = Source("standard"), f"every parameter stored in {STORED_BITS} bits"
    compression = Rival("R11", "compression", one, "bound", Source("recalled", LOTFI_2023), remark=stored)
    described = Rival("description", "description length", one, "bound", standard, remark=stored)
    averaged = replace(described, key="McAllester", name="PAC-Bayes", origin=Source("standard", MCALLESTER_1999))
    tempered = replace(
        averaged, key="Catoni", quantity="risk at no training error", origin=Source("standard", CATONI_2007)
    )
    listed: tuple[tuple[Rival, Callable[[], float]], ...] = (
        (Rival("R1", "covers to risk", two, SHAPE, RECALLED), lambda: risk_shape(capacity(), m, delta)),
        (Rival("R2", "general attention theorem, C_Norm = 2", c, "bound", RECALLED), general),
        (Rival("R3", "linear cover", log_n, "bound", Source("recalled", ZHANG_2002)), linear),
        (Rival("R4", "head", c, SHAPE, RECALLED), lambda: head_shape(first_head(profile), profile, m)),
        (Rival("R5", "scalar and multi-head", c, SHAPE, RECALLED), lambda: scalar_shape(profile, m)),
        (Rival("R6", "deep", c, SHAPE, RECALLED), lambda: deep_shape(profile, m)),
        (FIRST_VERSION, no_number),
        (Rival("R8", RECALLED_CONSTANTS.title, two, "bound", Source("ours")), gap(RECALLED_CONSTANTS)),
        (Rival("R8ᵀ", RECALLED_TRANSPOSED.title, two, "bound", Source("ours")), gap(RECALLED_TRANSPOSED)),
        (Rival("R9", "Dudley on our C", two, "bound", standard), lambda: 2 * dudley(capacity(), m) + chance),
        (Rival("R10", LENGTH_FREE.title, two, "bound", IDEA_OF_TRAUGER), gap(LENGTH_FREE)),
        (compression, lambda: lotfi(bits(), m, delta)),
        (Rival("counting", PARAMETER_COUNT.title, two, "bound", standard), gap(PARAMETER_COUNT)),
        (described, lambda: description_gap(bits(), m, delta)),
        (averaged, lambda: mcallester(bits() * log(2), m, delta)),
        (tempered, lambda: best_catoni(bits() * log(2), m, delta)),
    )
    evaluated = []
    for rival, value in listed:
        try:
            evaluated.append(replace(rival, value=value()))
        except AssumptionError as refusal:
            evaluated.append(replace(rival, remark=str(refusal)))
    return tuple(evaluated)
