"""The report: findings in, one self-contained page and its files out."""

import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from keyhole import __version__
from keyhole.claims.finding import Finding
from keyhole.errors import OutputError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.looking import is_there
from keyhole.files.record import to_json
from keyhole.show.chart import javascript, to_spec, to_svg
from keyhole.show.mathml import to_mathml
from keyhole.show.site import save_figure

FORMATS = (".svg", ".png", ".csv")


def write_report(findings: Sequence[Finding], not_covered: Iterable[tuple[str, str]], folder: Path) -> Path:
    """Write index.html, findings.json and every figure as SVG, PNG and CSV; return the page's path.

    Where the folder holds the page of the same findings already, nothing is written.
    """
    page, kept = folder / "index.html", folder / "findings.json"
    content = f"{findings_json(findings)}\n".encode()
    figures = [
        folder / "figures" / f"{name}{ending}" for f in findings for name, _ in named_figures(f) for ending in FORMATS
    ]
    if _holds(kept, content) and all(is_there(path, OutputError) for path in (page, *figures)):
        return page
    for finding in findings:
        for name, figure in named_figures(finding):
            for ending in FORMATS:
                save_figure(figure, folder / "figures" / f"{name}{ending}")
    write_file(page, render(findings, not_covered).encode())
    write_file(kept, content)
    return page


def findings_json(findings: Sequence[Finding]) -> str:
    """The findings as one JSON object."""
    return to_json("findings/1", {"findings": [finding.record() for finding in findings]})


def named_figures(finding: Finding) -> list[tuple[str, Figure]]:
    """A finding's figures, each with the name its files have."""
    figures = finding.outcome.figures
    return [(f"{finding.claim.id}-{i + 1}" if len(figures) > 1 else finding.claim.id, f) for i, f in enumerate(figures)]


def render(findings: Sequence[Finding], not_covered: Iterable[tuple[str, str]]) -> str:
    """The page as text."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  (woken by a page only)

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("keyhole.show").joinpath("report.html.j2").read_text("utf8"))
    specs = {name: to_spec(figure) for finding in findings for name, figure in named_figures(finding)}
    return template.render(
        version=__version__,
        proved=[_shown(finding) for finding in findings if finding.claim.proved],
        evidence=[_shown(finding) for finding in findings if not finding.claim.proved],
        findings=findings,
        not_covered=list(not_covered),
        javascript=javascript(),
        specs=json.dumps(specs, ensure_ascii=False).replace("</", r"<\/"),
        papers={paper.key: paper for finding in findings for paper in finding.claim.papers},
    )


def _holds(path: Path, content: bytes) -> bool:
    """Whether the file holds just that; what is no file, or cannot be read, does not."""
    try:
        return path.is_file() and path.read_bytes() == content
    except OSError:
        return False


def _shown(finding: Finding) -> dict[str, Any]:
    """A finding with its formula and drawings, as the template wants them."""
    figures = [{"name": name, "title": figure.title, "svg": to_svg(figure)} for name, figure in named_figures(finding)]
    return {"finding": finding, "mathml": to_mathml(finding.claim.formula), "figures": figures}
