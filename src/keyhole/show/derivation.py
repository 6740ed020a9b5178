"""A guarantee with its derivation, from its record: a tree of text, HTML, LaTeX."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, Template

from keyhole.decimals import brief

Record = Mapping[str, Any]

TEMPLATE = """
{%- macro steps(step, share) -%}
<li><meter min="0" max="1" value="{{ "%.4f" % share }}"></meter> {{ "%.0f" % (100 * share) }} % {{ step.name -}}
{{ " " }}= <b>{{ number(step) }}</b> <span title="{{ step.formula }} — {{ step.source }}">{{ step.lemma }}</span>
{%- if step.inputs %} <small>{{ inputs(step) }}</small>{% endif -%}
{%- if step.parts %}<ul>{% for part in step.parts %}{{ steps(part, share * part.share) }}{% endfor %}</ul>{% endif -%}
</li>
{%- endmacro -%}
<div class="keyhole-guarantee"><p><b>{{ record.sentence }}</b></p><ul>{{ steps(record.derivation, 1.0) }}</ul>
{#- -#}<p>Valid if</p><ul>{% for condition in record.valid_if %}<li>{{ condition }}</li>{% endfor %}</ul>
{%- if record.note %}<p>{{ record.note }}</p>{% endif %}</div>
"""

LATEX = {
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "{": r"\{", "}": r"\}", "^": r"\^{}", "~": r"\~{}",
}  # fmt: skip


def derivation_text(record: Record) -> str:
    """The guarantee, its tree, its lemmas with their sources, its conditions; lines are as long as they are."""
    root = record["derivation"]
    lines = [record["sentence"], "", _line(root, 1.0), *_branches(root, 1.0, "")]
    lines += ["", f"dominating: {record['dominating']} ({record['dominating_lemma']})", "", "lemmas"]
    lines += [f"  {name}: {step['formula']}   {step['source']}" for name, step in _lemmas(root).items()]
    lines += ["", "valid if", *(f"  · {condition}" for condition in record["valid_if"])]
    if record["vacuous"]:
        lines += ["", f"vacuous: the loss never exceeds {record['loss_ceiling']:g} anyway."]
    if record["note"]:
        lines += ["", record["note"]]
    return "\n".join(lines)


def derivation_html(record: Record) -> str:
    """The guarantee as nested lists, without script; every number is text too."""
    return _template().render(record=record, number=number, inputs=_inputs)


def derivation_latex(record: Record) -> str:
    """The guarantee as nested LaTeX lists, for lualatex or xelatex (Greek letters are left as they are)."""
    return "\n".join(
        [
            latex_safe(record["sentence"]),
            r"\begin{itemize}",
            *_latex_step(record["derivation"], 1.0),
            r"\end{itemize}",
            "Valid if",
            r"\begin{itemize}",
            *(rf"\item {latex_safe(condition)}" for condition in record["valid_if"]),
            r"\end{itemize}",
        ]
    )


def latex_safe(words: str) -> str:
    r"""Words with LaTeX's own characters protected.

    >>> print(latex_safe("P_∞ & 5 %"))
    P\_∞ \& 5 \%
    """
    return "".join(LATEX.get(letter, letter) for letter in words)


def number(record: Record) -> str:
    """The value of a record as a person reads it; what JSON has no number for, as its reason tells.

    >>> number({"value": 1e5}), number({"value": None, "value_reason": "not finite"})
    ('100,000', '∞')
    """
    if record["value"] is not None:
        return brief(record["value"])
    return "∞" if record["value_reason"] == "not finite" else "no number"


def _inputs(step: Record) -> str:
    return ", ".join(f"{given['name']} = {number(given)}" for given in step["inputs"])


def _line(step: Record, share: float) -> str:
    given = f"   [{_inputs(step)}]" if step["inputs"] else ""
    return f"{100 * share:3.0f} %  {step['name']} = {number(step)}   {step['lemma']}{given}"


def _branches(step: Record, share: float, stem: str) -> list[str]:
    """The parts of a step below each other, each with its own parts below it and further in."""
    lines = []
    for i, part in enumerate(step["parts"]):
        last = i == len(step["parts"]) - 1
        own = share * part["share"]
        lines.append(f"{stem}{'└─' if last else '├─'} {_line(part, own)}")
        lines += _branches(part, own, stem + ("   " if last else "│  "))
    return lines


def _lemmas(root: Record) -> dict[str, Record]:
    """Each lemma of a derivation once, by name, with the first step that uses it."""
    lemmas: dict[str, Record] = {}
    for step in _walk(root):
        lemmas.setdefault(step["lemma"], step)
    return lemmas


def _walk(step: Record) -> Iterator[Record]:
    yield step
    for part in step["parts"]:
        yield from _walk(part)


def _latex_step(step: Record, share: float) -> list[str]:
    head = f"{step['name']} = {number(step)}, {step['lemma']}, {100 * share:.0f} %"
    lines = [rf"\item {latex_safe(head)}"]
    if step["parts"]:
        inner = (line for part in step["parts"] for line in _latex_step(part, share * part["share"]))
        lines += [r"\begin{itemize}", *inner, r"\end{itemize}"]
    return lines


@cache
def _template() -> Template:
    return Environment(autoescape=True).from_string(TEMPLATE.strip())
