"""A guarantee for people: a sentence, a tree of text, HTML, LaTeX."""

from html import escape
from math import isfinite, isnan

from keyhole.bounds.theorems.derivation import Step
from keyhole.bounds.theorems.risk import Statement
from keyhole.decimals import at_most, surely


def number(value: float) -> str:
    """Three or four digits, whole counts in full, powers of ten where they are shorter.

    >>> number(0.08245), number(100000.0), number(2.7e10), number(3.0)
    ('0.08245', '100,000', '2.7e10', '3')
    """
    if not isfinite(value):
        return "no number" if isnan(value) else "∞"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def sentence(shown: Statement) -> str:
    """The guarantee in one sentence."""
    marks = [shown.title]
    marks += [] if shown.two_sided else ["one-sided"]
    marks += ["norms measured, peeled"] if shown.measured else []
    marks += ["VACUOUS"] if shown.vacuous else []
    chance = f"with probability ≥ {surely(shown.delta)} at m = {number(shown.samples)}"
    return f"gap ≤ {at_most(shown.value)} {chance} ({'; '.join(marks)})"


def _inputs(step: Step) -> str:
    return ", ".join(f"{name} = {number(value)}" for name, value in step.inputs)


def _line(step: Step, share: float) -> str:
    percent = f"{100 * share:3.0f} %"
    given = f"   [{_inputs(step)}]" if step.inputs else ""
    return f"{percent}  {step.name} = {number(step.value)}   {step.lemma.name}{given}"


def _branches(step: Step, share: float, stem: str) -> list[str]:
    lines = []
    for i, part in enumerate(step.parts):
        last = i == len(step.parts) - 1
        own = share * part.share
        lines.append(f"{stem}{'└─' if last else '├─'} {_line(part, own)}")
        lines += _branches(part, own, stem + ("   " if last else "│  "))
    return lines


def lemmas(root: Step) -> dict[str, Step]:
    """Each lemma of a derivation once, by name."""
    found: dict[str, Step] = {}
    for _, _, step in root.walk():
        found.setdefault(step.lemma.name, step)
    return found


def text(shown: Statement) -> str:
    """The guarantee, its tree, its lemmas with their sources, its conditions."""
    root = shown.derivation
    lines = [sentence(shown), "", _line(root, 1.0), *_branches(root, 1.0, "")]
    dominating = root.dominating()
    lines += ["", f"dominating: {dominating.name} ({dominating.lemma.name})", "", "lemmas"]
    lines += [f"  {name}: {step.lemma.formula}   {step.lemma.source}" for name, step in lemmas(root).items()]
    lines += ["", "valid if"] + [f"  · {condition}" for condition in shown.valid_if]
    if shown.vacuous:
        lines += ["", f"vacuous: the loss never exceeds {shown.loss.ceiling:g} anyway."]
    if shown.note:
        lines += ["", shown.note]
    return "\n".join(lines)


def _html_step(step: Step, share: float) -> str:
    parts = "".join(_html_step(part, share * part.share) for part in step.parts)
    inner = f"<ul>{parts}</ul>" if parts else ""
    given = f" <small>{escape(_inputs(step))}</small>" if step.inputs else ""
    bar = f'<meter min="0" max="1" value="{share:.4f}"></meter> {100 * share:.0f} %'
    title = escape(f"{step.lemma.formula} — {step.lemma.source}", quote=True)
    return (
        f"<li>{bar} {escape(step.name)} = <b>{number(step.value)}</b> "
        f'<span title="{title}">{escape(step.lemma.name)}</span>{given}{inner}</li>'
    )


def html(shown: Statement) -> str:
    """The guarantee as HTML: nested lists, no script, every number also as text."""
    conditions = "".join(f"<li>{escape(condition)}</li>" for condition in shown.valid_if)
    note = f"<p>{escape(shown.note)}</p>" if shown.note else ""
    return (
        f'<div class="keyhole-guarantee"><p><b>{escape(sentence(shown))}</b></p>'
        f"<ul>{_html_step(shown.derivation, 1.0)}</ul><p>Valid if</p><ul>{conditions}</ul>{note}</div>"
    )


LATEX = {
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "{": r"\{", "}": r"\}", "^": r"\^{}", "~": r"\~{}",
}  # fmt: skip


def latex_safe(words: str) -> str:
    """Words with LaTeX's own characters protected."""
    return "".join(LATEX.get(letter, letter) for letter in words)


def _latex_step(step: Step, share: float) -> list[str]:
    head = f"{step.name} = {number(step.value)}, {step.lemma.name}, {100 * share:.0f} %"
    lines = [rf"\item {latex_safe(head)}"]
    if step.parts:
        lines.append(r"\begin{itemize}")
        for part in step.parts:
            lines += _latex_step(part, share * part.share)
        lines.append(r"\end{itemize}")
    return lines


def latex(shown: Statement) -> str:
    """The guarantee as nested LaTeX lists, for lualatex or xelatex (Greek letters are left as they are)."""
    conditions = [rf"\item {latex_safe(condition)}" for condition in shown.valid_if]
    return "\n".join(
        [
            latex_safe(sentence(shown)),
            r"\begin{itemize}",
            *_latex_step(shown.derivation, 1.0),
            r"\end{itemize}",
            "Valid if",
            r"\begin{itemize}",
            *conditions,
            r"\end{itemize}",
        ]
    )
