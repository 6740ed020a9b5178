"""A description on a terminal: facts in two columns, weights and influences as small bars."""

from rich.console import Console

from keyhole.api.describe import Description
from keyhole.cli.facts import show_facts
from keyhole.decimals import at_least

MANY = 12  # rows shown of a long list
BAR = 24  # columns of the longest bar


def show(description: Description) -> None:
    """Print the description, as wide as the terminal or 80 columns."""
    show_facts(facts(description))
    console = Console(soft_wrap=False, highlight=False)
    show_bars(console, "Fourier weight by degree", weights(description))
    show_bars(console, "influence by position", [(f"x{at}", value) for at, value in description.influences.items()])


def facts(description: Description) -> list[tuple[str, str]]:
    """The facts and what the theory says, as words."""
    threshold = description.threshold
    rows = [
        ("formula", shorten(description.formula)),
        ("positions", shorten(", ".join(map(str, description.positions)) or "none: the function is constant")),
        ("sparsity", f"s = {description.sparsity}"),
        (description.rule, shorten(rule_text(description))),
        ("degree", str(description.degree)),
        ("sensitivity", f"{description.sensitivity:.6g} on average, {description.largest_sensitivity} at most"),
        ("leap", str(description.leap)),
        ("symmetric", symmetry(description)),
        ("monotone", yes(holds=description.monotone)),
        (
            "threshold",
            f"{ {'proved': 'yes', 'refuted': 'no'}.get(threshold.verdict, 'undecided') }: {threshold.method}",
        ),
        ("P(1)", f"{description.probability:.6g} on uniform bits"),
        ("trivial error", f"{description.trivial_error:.6g}: what a constant answer gets wrong"),
        ("representation", f"{description.representation.says}\n[{description.representation.source}]"),
        ("training", f"{description.training.says}\n[{description.training.source}]"),
    ]
    if description.context is not None and description.information_floor is not None:
        floor = f"{at_least(description.information_floor, 4)} samples: fewer cannot name a random set of s positions"
        rows.append(("information floor", f"{floor} (T = {description.context})"))
        rows.append(("sensitivity / T", f"{description.sensitivity_per_position:.4g}"))
    return rows


def rule_text(description: Description) -> str:
    """The levels with what they count, or the table."""
    if description.levels is None:
        return f"{description.table} (first position = least significant bit)"
    return f"{description.levels} for 0 to {description.sparsity} true among {', '.join(description.literals or ())}"


def symmetry(description: Description) -> str:
    """Symmetric, symmetric once some bits are negated, or neither."""
    if description.symmetric or not description.symmetric_up_to_negation:
        return yes(holds=description.symmetric)
    return "once some bits are negated"


def yes(*, holds: bool) -> str:
    """Yes or no."""
    return "yes" if holds else "no"


def weights(description: Description) -> list[tuple[str, float]]:
    """The degrees that carry weight above rounding."""
    return [(str(k), weight) for k, weight in enumerate(description.fourier_weight) if weight > 1e-12]


def shorten(text: str, longest: int = 300) -> str:
    """The text, with its middle left out when it is long."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"


def show_bars(console: Console, title: str, rows: list[tuple[str, float]]) -> None:
    """A list of numbers with a bar each; the largest ones of a long list, said to be so."""
    if not rows:
        return
    shown = rows if len(rows) <= MANY else sorted(sorted(rows, key=lambda row: -row[1])[:MANY], key=rows.index)
    left_out = f" (the {MANY} largest of {len(rows)}; --json has all)" if len(rows) > MANY else ""
    console.print(f"\n[bold]{title}[/bold]{left_out}")
    largest = max(value for _, value in shown) or 1
    for name, value in shown:
        bar = "█" * max(1, round(BAR * value / largest)) if value else ""
        console.print(f"  {name:>8}  {value:<10.4g} {bar}".rstrip())
