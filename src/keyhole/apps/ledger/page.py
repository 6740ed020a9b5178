"""The page: findings and the story in, one self-contained page and its files out."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from keyhole import __version__
from keyhole.apps.ledger.finding import Finding
from keyhole.apps.ledger.story import Part, Sentence
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.record import record_of, to_json
from keyhole.glossary import glossary
from keyhole.show.chart import javascript, to_spec, to_svg
from keyhole.show.site import save_figure
from keyhole.verdicts import ClaimVerdict

ABSENT: ClaimVerdict = "not measured here"
UNFINISHED: ClaimVerdict = "not finished"
UNMEASURED = (ABSENT, UNFINISHED)  # neither for a claim nor against it
FORMATS = (".svg", ".png", ".csv")
LEADS = (  # claim, which of its figures, and what it shows: at the head of the page
    (
        "conjunctions-uniform",
        0,
        (
            "How many training samples m* a network needs for an AND of three bits, as the context T grows, with 90 % "
            "intervals; beside it laws of growth, the floor below which no learner succeeds, and the samples that a "
            "theorem asks for."
        ),
    ),
    (
        "sparse-heads",
        1,
        (
            "One attention head before and after training: the head that looks most at the three positions that matter. "
            "The network is not told which these are."
        ),
    ),
    ("registered-growth-12800", 0, "The same question over a wider range of contexts, by a plan fixed beforehand."),
)
PARTS = ("Words of the page of claims", "Words of the answers")  # of the glossary, at the end of the page
RAISED = re.compile(r"\^(?:\{([^{}]*)\}|([−-]?(?:O?\([^()]*\)|\d+(?:\.\d+)?|\w+)))")
LOWERED = re.compile(r"(?<![A-Za-z0-9_]{2})_(∞|[A-Za-z0-9]{1,2})(?![A-Za-z0-9_])")


@dataclass(frozen=True)
class Drawing:
    """A figure with the name of its files; one that came before is linked there, and not drawn again."""

    name: str
    title: str
    svg: str
    drawn_at: str  # the name of the drawing that shows the same figure before, or nothing


@dataclass(frozen=True)
class Card:
    """A finding as the page shows it."""

    finding: Finding
    mathml: str
    drawings: tuple[Drawing, ...]


def write_report(
    findings: Sequence[Finding],
    story: Sequence[Part],
    not_covered: Iterable[tuple[str, str]],
    folder: Path,
    longer: Mapping[str, Finding] = MappingProxyType({}),
) -> Path:
    """Write index.html, findings.json and every figure as SVG, PNG and CSV; return the page's path.

    `longer` are findings of longer runs that were made elsewhere, by claim; shipped.json has them. Where the folder
    holds the page of the same findings already, nothing is written.
    """
    page = folder / "index.html"
    contents = {folder / "findings.json": findings, folder / "shipped.json": tuple(longer.values())}
    written = {
        path: f"{to_json('findings/1', {'findings': record_of(listed)})}\n".encode()
        for path, listed in contents.items()
        if listed
    }
    named = [figure for finding in findings for figure in named_figures(finding)]
    figures = [folder / "figures" / f"{name}{ending}" for name, _ in named for ending in FORMATS]
    if all(path.exists() for path in (page, *written, *figures)) and all(
        path.read_bytes() == content for path, content in written.items()
    ):
        return page
    for name, figure in named:
        for ending in FORMATS:
            save_figure(figure, folder / "figures" / f"{name}{ending}")
    write_file(page, render(findings, story, not_covered, longer).encode())
    for path, content in written.items():
        write_file(path, content)
    return page


def named_figures(finding: Finding) -> list[tuple[str, Figure]]:
    """Return a finding's figures, each with the name its files have."""
    figures, name = finding.outcome.figures, finding.claim.id
    return [(f"{name}-{i + 1}" if len(figures) > 1 else name, figure) for i, figure in enumerate(figures)]


def render(
    findings: Sequence[Finding],
    story: Sequence[Part],
    not_covered: Iterable[tuple[str, str]],
    longer: Mapping[str, Finding] = MappingProxyType({}),
    *,
    expected: int = 0,
) -> str:
    """Return the page as text: the findings in the order of the story.

    Beside a finding stands that of a longer run which was made elsewhere, where there is one, and is marked; it answers
    for a claim that was not measured here. A page with fewer findings than are expected says so.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["typeset"] = typeset
    template = environment.from_string(Path(__file__).with_name("page.html.j2").read_text("utf8"))
    cards = _cards(findings, [name for part in story for sentence in part.sentences for name in sentence.names])
    drawn = {drawing.name for card in cards.values() for drawing in card.drawings if not drawing.drawn_at}
    specs = {n: to_spec(figure) for finding in findings for n, figure in named_figures(finding) if n in drawn}
    verdicts = Counter(finding.outcome.verdict for finding in findings)
    measured = [finding for finding in findings if finding.outcome.verdict not in UNMEASURED]
    shown = {finding.claim.id: finding for finding in findings}
    shown |= {name: other for name, other in longer.items() if shown[name].outcome.verdict in UNMEASURED}
    return template.render(
        version=__version__,
        commits=sorted({finding.versions["commit"] for finding in findings if "commit" in finding.versions}),
        story=[(part, [(each, _answer(each, shown, cards)) for each in part.sentences]) for part in story],
        verdicts={name: finding.outcome.verdict for name, finding in shown.items()},
        shipped=sum(cards[name].finding is not finding for name, finding in shown.items()),
        expected=expected,
        cards=cards,
        longer=longer,
        leads=[
            (cards[name].drawings[place], cards[name].finding, shown)
            for name, place, shown in LEADS
            if name in cards and place < len(cards[name].drawings)
        ],
        evidence=_counted(finding.outcome.verdict for finding in measured if not finding.proved),
        proved=sum(finding.proved for finding in measured),
        absent=verdicts[ABSENT],
        unfinished=verdicts[UNFINISHED],
        glossary=[(term.term, term.meaning) for part in PARTS for term in glossary() if term.part == part],
        findings=findings,
        not_covered=list(not_covered),
        javascript=javascript(),
        specs=json.dumps(specs, ensure_ascii=False).replace("</", r"<\/"),
        references={paper.key: paper.bibtex for finding in findings for paper in finding.claim.papers},
    )


def to_mathml(formula: str) -> str:
    """Return a LaTeX formula as a block of MathML, which browsers draw without any script."""
    from latex2mathml.converter import convert

    return str(convert(formula, display="block"))


def _counted(verdicts: Iterable[str]) -> list[tuple[str, int]]:
    """Return how often each verdict comes, the favourable ones first."""
    counts = Counter(verdicts)
    return sorted(counts.items(), key=lambda entry: (not entry[0].startswith("holds"), entry[0]))


def typeset(text: str) -> Any:
    """A text of the page, with what is raised after ^ or lowered after _ set so; a name with _ in it stays.

    >>> str(typeset("2^O(s) & P_∞ of mass_best"))
    '2<sup>O(s)</sup> &amp; P<sub>∞</sub> of mass_best'
    """
    from markupsafe import Markup

    raised = RAISED.sub(lambda found: f"<sup>{found[1] or found[2]}</sup>", escape(text))
    return Markup(LOWERED.sub(r"<sub>\1</sub>", raised))  # noqa: S704  (escaped before)


def _cards(findings: Sequence[Finding], order: Sequence[str]) -> dict[str, Card]:
    """Return the findings with formulas and drawings, by claim, in the order in which the page shows them."""
    by_name = {finding.claim.id: finding for finding in findings}
    first: dict[str, str] = {}  # the figure, as a text → the name under which it is drawn
    cards: dict[str, Card] = {}
    for claim in [*order, *(name for name in by_name if name not in order)]:
        drawings = []
        for name, figure in named_figures(by_name[claim]):
            before = first.setdefault(repr(record_of(figure)), name)
            same = before if before != name else ""
            drawings.append(Drawing(name, figure.title, "" if same else to_svg(figure), same))
        cards[claim] = Card(by_name[claim], to_mathml(by_name[claim].claim.formula), tuple(drawings))
    return cards


def answer_word(verdicts: Sequence[str], *, limited: bool = False, partly: bool = False) -> str:
    """Return what the verdicts of the claims that decide a sentence say of it, in a word.

    A claim that was not measured, or not decided, leaves a part of the sentence open. A limit, or claims that reach a
    part of the sentence only, keep the answer from being a plain yes, though all of them hold.

    >>> answer_word(["holds", "holds"]), answer_word(["holds"], limited=True), answer_word(["holds", "not measured here"])
    ('yes', 'yes, with a limit', 'in part')
    """
    held = sum(verdict.startswith("holds") for verdict in verdicts)
    failed = verdicts.count("fails here")
    if all(verdict in UNMEASURED for verdict in verdicts):
        return "not tested"
    if not held:
        return "no" if failed else "open"
    if partly or held < len(verdicts):
        return "in part"
    return "yes, with a limit" if limited or "holds with a caveat" in verdicts else "yes"


@dataclass(frozen=True)
class Reply:
    """The answer to a sentence: a word, the first result that decides it, and how its claims came out."""

    word: str
    number: str
    counts: str
    shipped: bool  # some of it rests on findings that came with the library


def _answer(sentence: Sentence, findings: Mapping[str, Finding], cards: Mapping[str, Card]) -> Reply:
    """Return the answer to a sentence from the findings that are shown."""
    deciding, besides = ([findings[name] for name in names] for names in (sentence.claims, sentence.besides))
    verdicts = [finding.outcome.verdict for finding in deciding] + [ABSENT] * sentence.absent
    word = answer_word(verdicts, limited=bool(sentence.limit), partly=sentence.partly)
    parts = {"Claims that decide it": deciding, "Our own questions beside it": besides}
    counts = " ".join(f"{name}: {_verdicts(some)}." for name, some in parts.items() if some)
    results = [finding.outcome.measurement for finding in deciding if finding.outcome.verdict not in UNMEASURED]
    number = re.split(r"(?<=[.!?])\s|\n", results[0], maxsplit=1)[0] if results else ""
    shipped = any(cards[finding.claim.id].finding is not finding for finding in deciding)
    return Reply(word, number, counts, shipped)


def _verdicts(claims: Sequence[Finding]) -> str:
    """Return how many claims have which verdict, and how many of these have a proof."""
    counts = []
    for verdict, count in _counted(finding.outcome.verdict for finding in claims):
        proved = sum(finding.proved for finding in claims if finding.outcome.verdict == verdict)
        ways = [f"{number} by {way}" for way, number in (("proof", proved), ("measurement", count - proved)) if number]
        counts.append(f"{count} “{verdict}”" + (f" ({', '.join(ways)})" if verdict not in UNMEASURED else ""))
    return ", ".join(counts)
