"""The attention of a compiled model as a figure."""

import numpy as np

from keyhole.arrays import Float
from keyhole.boolean import Levels, decide
from keyhole.compiler.constructions.plan import HeadPlan, Plan, every_pattern, pattern_per_count
from keyhole.figure import Axis, Figure, Row

BARS = 20  # tokens shown one by one
BITS = 6  # of an input that are spelled out


def attention_figure(plan: Plan) -> Figure:
    """Draw the attention of [CLS] by position: bars for one head, a heat map for several.

    In a long context positions with little attention are added up. The attention is the same for every input, unless a
    logit depends on the symbol: then two inputs are shown, one where the function is true and one that differs from it
    in a relevant bit.
    """
    heads = {f"head {h}": head for h, head in enumerate(plan.heads)}
    drawn: dict[str, np.ndarray] = {}
    if any(head.reads_symbols for head in plan.heads):
        note, y = "on two inputs, as logits depend on symbols", Axis("shown", "input", "category")
        rule, s = plan.function.rule, plan.function.sparsity
        patterns = pattern_per_count(rule) if isinstance(rule, Levels) else every_pattern(s)
        true = patterns[np.flatnonzero(decide(rule, patterns))[-1]]
        turned = true ^ np.eye(s, dtype=bool)
        for bits in (true, turned[int(np.argmin(decide(rule, turned)))]):
            spelled = " ".join(f"x{t}={int(b)}" for t, b in zip(plan.function.positions[:BITS], bits, strict=False))
            for name, head in heads.items():
                title = f"{spelled}{' …' * (s > BITS)}{f', {name}' * (len(heads) > 1)}"
                drawn[title] = _attention(plan, head, bits)
    else:
        note, y = "the same for every input", Axis("shown", "head", "category")
        drawn = {name: _attention(plan, head) for name, head in heads.items()}
    shares, places = np.stack(list(drawn.values())), list(range(plan.context))
    if plan.context > BARS:
        most = shares[:, :-1].max(axis=0)
        order = np.argsort(-most, kind="stable")[: BARS - 1].tolist()
        places = sorted(t for t in order if t in plan.function.positions or most[t] > 2 / BARS)
    names, columns = [*(f"x{t}" for t in places), "[CLS]"], [*(shares[:, t] for t in places), shares[:, -1]]
    if len(places) < plan.context:
        names.append(f"{plan.context - len(places)} others")
        columns.append(1 - np.sum(columns, axis=0))
    rows: tuple[Row, ...] = tuple(
        {"token": token, "shown": shown, "attention": float(columns[j][i])}
        for i, shown in enumerate(drawn)
        for j, token in enumerate(names)
    )
    formula = str(plan.function)
    title = formula if len(formula) <= 40 else f"a function of {plan.function.sparsity} bits"
    several = len(drawn) > 1
    return Figure(
        "Attention of [CLS]",
        "heatmap" if several else "bars",
        rows,
        Axis("token", "token", "category"),
        y if several else Axis("attention", "attention"),
        Axis("attention", "attention") if several else None,
        subtitle=f"{title}, T = {plan.context}, construction {plan.construction}; {note}",
    )


def _attention(plan: Plan, head: HeadPlan, bits: np.ndarray | None = None) -> Float[np.ndarray, "length"]:
    """The attention on every token, [CLS] last, where the relevant bits are these; without any they are all 0."""
    scores = np.append(plan.logits(head)[:, 0], 0.0)
    if bits is not None:
        scores[list(plan.function.positions)] = head.symbol_focus[np.arange(len(bits)), bits.astype(int)]
    mass = np.exp(scores - scores.max())
    return np.asarray(mass / mass.sum())
