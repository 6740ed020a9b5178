"""The report: findings as records in, one self-contained page and its files out."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from keyhole import __version__
from keyhole.figure import Figure, figure_from
from keyhole.files.atomic import write_file
from keyhole.files.record import to_json
from keyhole.show.chart import javascript, to_spec, to_svg
from keyhole.show.mathml import to_mathml
from keyhole.show.site import save_figure

ABSENT = "not measured here"
FORMATS = (".svg", ".png", ".csv")
LEADS = (  # claim, which of its figures, and what it shows: at the head of the page
    (
        "conjunctions-uniform",
        0,
        (
            "How many training samples a network needs for an AND of three bits, as the context T grows: m* with its "
            "90 % intervals, the laws that fit best, the floor below which no learner succeeds, and the samples that a "
            "theorem asks for."
        ),
    ),
    (
        "sparse-heads",
        1,
        "Where one attention head looks, before training and after; which three positions matter it is not told.",
    ),
    ("registered-growth", 0, "The same question over longer contexts."),
)
VERDICTS = {  # how a verdict is said of one claim, and of several
    "holds": ("holds", "hold"),
    "holds with a caveat": ("holds with a caveat", "hold with a caveat"),
    "fails here": ("fails here", "fail here"),
    "undecided at this scale": ("is undecided at this scale", "are undecided at this scale"),
    ABSENT: ("was not measured here", "were not measured here"),
}

Record = Mapping[str, Any]


def write_report(
    findings: Sequence[Record],
    story: Sequence[Record],
    not_covered: Iterable[tuple[str, str]],
    references: Mapping[str, str],
    folder: Path,
    longer: Mapping[str, Record] = MappingProxyType({}),
) -> Path:
    """Write index.html, findings.json and every figure as SVG, PNG and CSV; return the page's path.

    `longer` are findings of longer runs that were made elsewhere, by claim; shipped.json has them. Where the folder
    holds the page of the same findings already, nothing is written.
    """
    page = folder / "index.html"
    contents = {folder / "findings.json": {"findings": list(findings)}}
    if longer:
        contents[folder / "shipped.json"] = {"findings": list(longer.values())}
    written = {path: f"{to_json('findings/1', fields)}\n".encode() for path, fields in contents.items()}
    named = [figure for finding in findings for figure in named_figures(finding)]
    figures = [folder / "figures" / f"{name}{ending}" for name, _ in named for ending in FORMATS]
    if all(path.exists() for path in (page, *written, *figures)) and all(
        p.read_bytes() == c for p, c in written.items()
    ):
        return page
    for name, figure in named:
        for ending in FORMATS:
            save_figure(figure, folder / "figures" / f"{name}{ending}")
    write_file(page, render(findings, story, not_covered, references, longer).encode())
    for path, content in written.items():
        write_file(path, content)
    return page


def named_figures(finding: Record) -> list[tuple[str, Figure]]:
    """A finding's figures, each with the name its files have."""
    figures, name = [figure_from(figure) for figure in finding["outcome"]["figures"]], finding["claim"]["id"]
    return [(f"{name}-{i + 1}" if len(figures) > 1 else name, figure) for i, figure in enumerate(figures)]


def render(
    findings: Sequence[Record],
    story: Sequence[Record],
    not_covered: Iterable[tuple[str, str]],
    references: Mapping[str, str],
    longer: Mapping[str, Record] = MappingProxyType({}),
) -> str:
    """The page as text: the findings in the order of the story; references are entries for a bibliography, by key.

    Beside a finding stands that of a longer run which was made elsewhere, where there is one, and is marked.
    """
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  (imported for a page only)

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("keyhole.show").joinpath("report.html.j2").read_text("utf8"))
    shown = {finding["claim"]["id"]: _shown(finding) for finding in findings}
    specs = {name: to_spec(figure) for finding in findings for name, figure in named_figures(finding)}
    measured = [finding for finding in findings if finding["outcome"]["verdict"] != ABSENT]
    return template.render(
        version=__version__,
        story=[{**part, "sentences": [_answered(each, shown) for each in part["sentences"]]} for part in story],
        shown=shown,
        longer=longer,
        leads=[lead for part in LEADS if (lead := _lead(shown, *part)) is not None],
        evidence=_counted(finding["outcome"]["verdict"] for finding in measured if not finding["proved"]),
        proved=sum(finding["proved"] for finding in measured),
        absent=len(findings) - len(measured),
        findings=findings,
        not_covered=list(not_covered),
        javascript=javascript(),
        specs=json.dumps(specs, ensure_ascii=False).replace("</", r"<\/"),
        references=references,
    )


def _counted(verdicts: Iterable[str]) -> list[tuple[str, int]]:
    """How often each verdict comes, the favourable ones first."""
    counts = Counter(verdicts)
    return sorted(counts.items(), key=lambda entry: (not entry[0].startswith("holds"), entry[0]))


def _shown(finding: Record) -> dict[str, Any]:
    """A finding with its formula and drawings, as the template wants them."""
    figures = [{"name": name, "title": figure.title, "svg": to_svg(figure)} for name, figure in named_figures(finding)]
    return {"finding": finding, "mathml": to_mathml(finding["claim"]["formula"]), "figures": figures}


def _lead(shown: Mapping[str, Any], name: str, place: int, says: str) -> dict[str, Any] | None:
    """One of the figures at the head of the page, where its claim was looked at."""
    figures = shown[name]["figures"] if name in shown else []
    if place >= len(figures):
        return None
    finding = shown[name]["finding"]
    found = f"{finding['outcome']['verdict']}: {finding['outcome']['measurement']}"
    return {**figures[place], "claim": name, "says": says, "found": found, "shipped": finding["claim"].get("shipped")}


def _answered(sentence: Record, shown: Mapping[str, Any]) -> dict[str, Any]:
    """A sentence with what was found of it, in one line."""
    claims = [shown[name]["finding"] for name in sentence["claims"]]
    verdicts = _counted(finding["outcome"]["verdict"] for finding in claims)
    if len(verdicts) == 1:
        who = "The claim that answers it" if len(claims) == 1 else f"All {len(claims)} claims that answer it"
        line = f"{who} {_said(*verdicts[0])}{_how(verdicts[0][0], claims)}."
    else:
        told = [f"{count} {_said(verdict, count)}{_how(verdict, claims)}" for verdict, count in verdicts]
        line = f"Of {len(claims)} claims that answer it, {', '.join(told)}."
    return {**sentence, "answer": line, "verdicts": [finding["outcome"]["verdict"] for finding in claims]}


def _said(verdict: str, count: int) -> str:
    one, several = VERDICTS.get(verdict, (f"reads {verdict}", f"read {verdict}"))
    return one if count == 1 else several


def _how(verdict: str, claims: Sequence[Record]) -> str:
    """How many of the claims with this verdict have a proof, and how many are measured."""
    if verdict == ABSENT:
        return ""
    proved = [finding["proved"] for finding in claims if finding["outcome"]["verdict"] == verdict]
    counts = {"by proof": sum(proved), "by measurement": len(proved) - sum(proved)}
    named = {way: count for way, count in counts.items() if count}
    return f" ({', '.join(named) if len(named) == 1 else ', '.join(f'{n} {way}' for way, n in named.items())})"
