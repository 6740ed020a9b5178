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
            "Where one attention head looks, before training and after; which three positions matter it is not told. "
            "Of the heads the one is drawn that looks most at these three."
        ),
    ),
    ("registered-growth-12800", 0, "The same question over a wider range of contexts, by a plan fixed beforehand."),
)
GLOSSARY = (  # what the page says without saying it again, in the order in which it comes
    ("keyhole", "the library that made this page; what is called ours is its authors'"),
    ("T, m, s", "the length of the context, the number of training samples, and how many tokens matter"),
    ("m*", "the m at which half of the runs learn: 99 % of fresh inputs are answered rightly"),
    ("AND, parity, junta", "functions of a few relevant bits among T; a junta is any such function"),
    ("gap", "test error less training error"),
    (
        "γ",
        "in weights that are built, the attention off the relevant positions; of a kernel, its temperature",
    ),
    ("P_∞, R, Φ(R)", "the path norm of a layer; how far the scores of one position spread; what that costs in a bound"),
    ("Theorems T, S and L", "bounds of keyhole's own on the gap of a layer; L goes by decision lists"),
    ("tabulated, cover, path", "three routes to a bound; Theorem T is the tabulated one"),
    ("R8 to R11, recalled constants", "bounds beside ours, R8 and R11 with constants of other works as we recall them"),
    ("veto", "a head that turns to whichever relevant token forbids the answer"),
    ("word", "one whole input of symbols"),
    ("sink", "a token that a head looks at whatever the text says, such as one that the tokenizer adds"),
    ("public reproduction", "public code that repeats the first paper's experiment; its settings are its protocol"),
    ("vacuous", "a bound so large that it says nothing"),
    ("room for k", "a model that is allowed k values of its latent variable"),
)
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
) -> str:
    """Return the page as text: the findings in the order of the story.

    Beside a finding stands that of a longer run which was made elsewhere, where there is one, and is marked.
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
    return template.render(
        version=__version__,
        commits=sorted({finding.versions["commit"] for finding in findings if "commit" in finding.versions}),
        story=[(part, [_answer(sentence, cards) for sentence in part.sentences]) for part in story],
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
        glossary=GLOSSARY,
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


def _answer(sentence: Sentence, cards: Mapping[str, Card]) -> tuple[Sentence, str, str]:
    """Return a sentence with what was found of it: a word, and how its claims came out."""
    deciding, besides = ([cards[name].finding for name in names] for names in (sentence.claims, sentence.besides))
    verdicts = [finding.outcome.verdict for finding in deciding] + [ABSENT] * sentence.absent
    word = answer_word(verdicts, limited=bool(sentence.limit), partly=sentence.partly)
    parts = {"Claims that decide it": deciding, "Our own questions beside it": besides}
    return sentence, word, " ".join(f"{name}: {_verdicts(some)}." for name, some in parts.items() if some)


def _verdicts(claims: Sequence[Finding]) -> str:
    """Return how many claims have which verdict, and how many of these have a proof."""
    counts = []
    for verdict, count in _counted(finding.outcome.verdict for finding in claims):
        proved = sum(finding.proved for finding in claims if finding.outcome.verdict == verdict)
        ways = [f"{number} by {way}" for way, number in (("proof", proved), ("measurement", count - proved)) if number]
        counts.append(f"{count} “{verdict}”" + (f" ({', '.join(ways)})" if verdict not in UNMEASURED else ""))
    return ", ".join(counts)
