"""Pictures of a compiled model: where [CLS] looks, what the query and the values hold, how the units respond."""

import numpy as np

from keyhole.arrays import Float
from keyhole.boolean import Levels, decide
from keyhole.compiler.assembly import logits
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.compiler.export.residual import to_residual
from keyhole.compiler.unread import remove_unread
from keyhole.figure import Axis, Cell, Figure, Row

BARS = 20  # tokens, directions or units shown one by one
BITS = 6  # of an input that are spelled out


def pictures(plan: Plan) -> dict[str, Figure]:
    """All four, by name."""
    return {
        "attention": attention_figure(plan),
        "query": query_figure(plan),
        "values": value_figure(plan),
        "response": response_figure(plan),
    }


def attention_figure(plan: Plan) -> Figure:
    """The attention of [CLS]: by position, or the rest together in a long context.

    It is the same for every input, unless a logit depends on the symbol: then two inputs are shown, one where the
    function is true and one that differs from it in a relevant bit.
    """
    if any(head.reads_symbols for head in plan.heads):
        return _attention_by_input(plan)
    shares = np.stack([_attention_shares(plan, head) for head in plan.heads])
    names, columns = _gathered_others(plan, shares)
    return _by_head(
        "Attention of [CLS]",
        f"{_title(plan)}; the same for every input",
        names,
        columns,
        Axis("name", "token", "category"),
        "attention",
    )


def _attention_by_input(plan: Plan) -> Figure:
    """The attention on two inputs that the function tells apart by one bit."""
    patterns = _two_patterns(plan)
    shares = np.stack([_attention_shares(plan, head, bits) for bits in patterns for head in plan.heads])
    names, columns = _gathered_others(plan, shares)
    several = len(plan.heads) > 1
    inputs = [
        f"{_spelled(plan, bits)}{f', head {h}' if several else ''}" for bits in patterns for h in range(len(plan.heads))
    ]
    rows: tuple[Row, ...] = tuple(
        {"name": name, "input": shown, "value": float(columns[i, j])}
        for i, shown in enumerate(inputs)
        for j, name in enumerate(names)
    )
    return Figure(
        "Attention of [CLS]",
        "heatmap",
        rows,
        Axis("name", "token", "category"),
        Axis("input", "relevant bits", "category"),
        Axis("value", "attention"),
        subtitle=f"{_title(plan)}; on two inputs, as logits depend on symbols",
    )


def _two_patterns(plan: Plan) -> list[np.ndarray]:
    """Relevant bits where the function is true, and the same with one bit turned, false if there is such a bit."""
    rule, s = plan.function.rule, plan.function.sparsity
    patterns = (
        np.tri(s + 1, s, -1, dtype=bool) ^ np.array(rule.negated)
        if isinstance(rule, Levels)
        else ((np.arange(1 << s)[:, None] >> np.arange(s)) & 1).astype(bool)
    )
    truths = np.flatnonzero(decide(rule, patterns))
    true = patterns[truths[-1]]
    turned = true ^ np.eye(s, dtype=bool)
    return [true, turned[int(np.argmin(decide(rule, turned)))]]


def _spelled(plan: Plan, bits: np.ndarray) -> str:
    """Relevant bits in a few characters."""
    shown = [f"x{t}={int(bit)}" for t, bit in zip(plan.function.positions[:BITS], bits, strict=False)]
    return " ".join(shown) + (" …" if len(bits) > BITS else "")


def _gathered_others(plan: Plan, shares: Float[np.ndarray, "h length"]) -> tuple[list[str], Float[np.ndarray, "h n"]]:
    """The tokens to show and the attention on each, those of a long context that get little gathered in one."""
    shown = _shown_positions(plan, shares)
    names = [*(f"x{t}" for t in shown), "[CLS]"]
    columns = [*(shares[:, t] for t in shown), shares[:, -1]]
    hidden = plan.context - len(shown)
    if hidden:
        names.append(f"{hidden} others")
        columns.append(1 - np.sum(columns, axis=0))
    return names, np.stack(columns, axis=1)


def query_figure(plan: Plan) -> Figure:
    """The query's key vector q, M = q x_CLSᵀ, by named direction: a token's logit is its product with q.

    Among random codes no coordinate means anything by itself, so the products with the positions' codes are shown.
    """
    if plan.layout.orthogonal:
        block = to_residual(plan)
        entries, every = block.key[:, :, 0], list(block.directions)
        value, noun = "entry of q", "directions"
    else:
        entries = np.stack([logits(plan, head)[:, 0] for head in plan.heads])
        every = [f"x{t}" for t in range(plan.context)]
        value, noun = "product of q with the code", "positions"
    kept, note = _largest(np.abs(entries).max(axis=0), BARS, noun)
    return _by_head(
        "W_QK: what [CLS] looks for",
        f"{_title(plan)}; {note}",
        [every[j] for j in kept],
        entries[:, kept],
        Axis("name", noun[:-1], "category"),
        value,
    )


def value_figure(plan: Plan) -> Figure:
    """W_V by named direction and unit: what each unit is given of each token attended to; without distractors."""
    plan = remove_unread(plan)
    block = to_residual(plan)
    several = len(plan.heads) > 1
    entries = [
        (f"{name}, head {h}" if several else name, row)
        for h in range(len(plan.heads))
        for name, row in zip(block.directions, block.value[h] @ block.output[h] @ block.inner, strict=True)
        if row.any()
    ]
    kept, note = _largest(np.array([np.abs(row).max() for _, row in entries]), BARS, "directions")
    rows: list[dict[str, Cell]] = []
    for j in range(min(plan.width, BARS)):
        unit = f"{plan.units[j]}, {j}" if plan.units.count(plan.units[j]) > 1 else plan.units[j]
        rows += [{"direction": entries[i][0], "unit": unit, "value": float(entries[i][1][j])} for i in kept]
    more = f"; the first {BARS} of {plan.width} units" if plan.width > BARS else ""
    return Figure(
        title="W_V: what each unit is given",
        subtitle=f"{_title(plan)}; {note}{more}" if len(kept) < len(entries) else f"{_title(plan)}{more}",
        kind="heatmap",
        rows=tuple(rows),
        x=Axis("direction", "direction", "category"),
        y=Axis("unit", "unit", "category"),
        colour=Axis("value", "value"),
    )


def response_figure(plan: Plan) -> Figure:
    """The output while the relevant bits are turned on in order, with all other bits 0 and with all of them 1.

    Whole numbers are inputs; between them what the head gives is interpolated, and a point stands at every bend.
    """
    lines = [_response(plan, symbol) for symbol in range(2)]
    alike = len(lines[0][0]) == len(lines[1][0]) and np.allclose(lines[0], lines[1], rtol=0, atol=1e-9)
    named = {"0 or 1": lines[0]} if alike else {"all 0": lines[0], "all 1": lines[1]}
    rows: tuple[Row, ...] = tuple(
        {"on": float(x), "output": float(y), "others": name}
        for name, (path, output) in named.items()
        for x, y in zip(path, output, strict=True)
    )
    return Figure(
        title="The MLP's response to what attention gathers",
        subtitle=f"{_title(plan)}; relevant bits turned on one after another",
        kind="lines",
        rows=rows,
        x=Axis("on", "relevant bits turned on"),
        y=Axis("output", "output"),
        colour=Axis("others", "other bits"),
    )


def _attention_shares(plan: Plan, head: HeadPlan, bits: np.ndarray | None = None) -> Float[np.ndarray, "length"]:
    """The attention on every token, [CLS] last, where the relevant bits are these; without any they are all 0."""
    scores = np.append(logits(plan, head)[:, 0], 0.0)
    if bits is not None:
        scores[list(plan.function.positions)] = head.symbol_focus[np.arange(len(bits)), bits.astype(int)]
    mass = np.exp(scores - scores.max())
    return np.asarray(mass / mass.sum())


def _response(plan: Plan, symbol: int) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Where the output can bend, and its value there: it is linear in between.

    Statement  Between two inputs every pre-activation is linear, so the output bends only where one passes 0.
    """
    whole = np.arange(plan.function.sparsity + 1.0)
    units = _pre_activations(plan, whole, symbol)
    start, end = units[:-1], units[1:]
    crosses = start * end < 0
    share = np.where(crosses, start / np.where(crosses, start - end, 1.0), 0.0)
    path = np.unique(np.concatenate([whole, (whole[:-1, None] + share)[crosses]]))
    return path, np.maximum(_pre_activations(plan, path, symbol), 0.0) @ plan.readout


def _pre_activations(plan: Plan, path: Float[np.ndarray, "n"], symbol: int) -> Float[np.ndarray, "n k"]:
    """Pre-activations where the first x relevant bits are 1, and all others `symbol`; linear between whole numbers."""
    s = plan.function.sparsity
    low = np.minimum(np.floor(path).astype(int), s - 1)
    part = (path - low)[:, None]
    at = np.array([_gathered_by(plan, np.arange(s) < count, symbol) for count in range(s + 1)])
    return np.asarray(at[low] * (1 - part) + at[low + 1] * part)


def _gathered_by(plan: Plan, bits: np.ndarray, symbol: int) -> Float[np.ndarray, "k"]:
    """What the units are given on one input: these relevant bits, and all others `symbol`."""
    places = list(plan.function.positions)
    before = np.zeros(plan.width)
    for head in plan.heads:
        shares = _attention_shares(plan, head, bits)
        rest = 1 - shares[places].sum() - shares[-1]
        shown = head.values[np.arange(len(bits)), bits.astype(int)]
        before += shares[places] @ shown + rest * head.rest_values[symbol] + shares[-1] * head.own_values
    return before


def _shown_positions(plan: Plan, shares: np.ndarray) -> list[int]:
    """All positions of a short context; otherwise the most attended to, in order."""
    if plan.context <= BARS:
        return list(range(plan.context))
    order = np.argsort(-shares[:, :-1].max(axis=0), kind="stable")
    special = [t for t in order[: BARS - 1].tolist() if t in plan.function.positions or shares[:, t].max() > 2 / BARS]
    return sorted(special)


def _largest(sizes: np.ndarray, most: int, noun: str) -> tuple[list[int], str]:
    """Which entries to show, in order, and a clause about those left out."""
    nonzero = np.flatnonzero(sizes)
    if len(nonzero) <= most:
        left = len(sizes) - len(nonzero)
        return nonzero.tolist(), f"0 in the other {left} {noun}" if left else f"all {noun}"
    kept = sorted(nonzero[np.argsort(-sizes[nonzero], kind="stable")[:most]].tolist())
    return kept, f"the {most} largest of {len(nonzero)} {noun}"


def _by_head(
    title: str, subtitle: str, names: list[str], numbers: Float[np.ndarray, "h n"], across: Axis, value: str
) -> Figure:
    """Bars for one head, a heat map for several."""
    rows: tuple[Row, ...] = tuple(
        {"name": name, "head": f"head {h}", "value": float(numbers[h, j])}
        for h in range(len(numbers))
        for j, name in enumerate(names)
    )
    if len(numbers) == 1:
        return Figure(title, "bars", rows, across, Axis("value", value), subtitle=subtitle)
    return Figure(
        title, "heatmap", rows, across, Axis("head", "head", "category"), Axis("value", value), subtitle=subtitle
    )


def _title(plan: Plan) -> str:
    formula = str(plan.function)
    shown = formula if len(formula) <= 40 else f"a function of {plan.function.sparsity} bits"
    return f"{shown}, T = {plan.context}, construction {plan.construction}"
