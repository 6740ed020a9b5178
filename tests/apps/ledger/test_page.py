"""The report is one page that needs nothing else, and shows every finding."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from keyhole.apps.ledger import story as library
from keyhole.apps.ledger.finding import Claim, Finding, Outcome
from keyhole.apps.ledger.ledger import LIBRARY
from keyhole.apps.ledger.page import answer_word, render, to_mathml, typeset, write_report
from keyhole.apps.ledger.story import Part, Sentence
from keyhole.figure import Axis, Figure
from keyhole.papers import EDELMAN_2022

WEIGHTS = Figure(
    "Weights",
    "bars",
    tuple({"k": k, "w": k / 3} for k in range(1, 4)),
    Axis("k", "degree", "category"),
    Axis("w", "weight"),
)


def finding(name, kind, verdict="holds", shipped="", **outcome):
    """A finding with little in it."""
    claim = Claim(
        id=name, title=f"The claim {name}", statement="It is <so> & more.", formula=r"a\le b", kind=kind,
        source="keyhole", prediction="it holds", could_fail="if not", papers=(EDELMAN_2022,), shipped=shipped,
    )  # fmt: skip
    seen = Outcome(
        **{"verdict": verdict, "measurement": "seen </script>", "numbers": {"x": 1.5}, "interval": "none", **outcome}
    )
    return Finding(claim, seen, "0123", "quick", 7, 0.5, {"numpy": "2"})


FINDINGS = (
    finding("alpha", "measurement", figures=(WEIGHTS, WEIGHTS)),
    finding("beta", "inequality", "holds with a caveat", caveats=("only here",), figures=(WEIGHTS,)),
    finding("gamma", "identity", "fails here"),
    finding("delta", "replication", "undecided at this scale"),
)


def told(says, *claims, **more):
    """A sentence of a story."""
    return Sentence("short", says, "abstract", claims, **more)


STORY = (
    Part(
        "A paper", EDELMAN_2022, (told("It <is> so.", "beta", "alpha", limit="one thing"), told("", "gamma", "delta"))
    ),
)


def last(*names):
    """A story of these claims."""
    return Part("Last", None, (told("", *names),))


@pytest.mark.slow
def test_claims_come_in_the_order_of_the_story():
    """Each sentence of a paper stands with its place before the claims that answer it, and what is missing is said."""
    page = render(FINDINGS, STORY, [("a thing", "why")])
    assert re.findall(r'<article id="(\w+)"', page) == ["beta", "alpha", "gamma", "delta"]
    assert page.index("It &lt;is&gt; so.") < page.index("one thing") < page.index('<article id="beta"')


def test_measured_and_proved_are_marked_and_counted_apart():
    """Each claim has its kind beside its verdict; the counts at the head keep them apart."""
    page = " ".join(render(FINDINGS, STORY, []).split())
    assert "2 have a proof" in page
    for name, kind in (
        ("alpha", "measured"),
        ("beta", "proved: inequality"),
        ("gamma", "proved: identity"),
        ("delta", "replication"),
    ):
        assert f'<span class="kind">{kind}</span>' in page.split(f'<article id="{name}"')[1].split("</article>")[0]


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        (["holds"], "1 “holds” (1 by proof)."),
        (["not measured here"], "1 “not measured here”."),
        (["holds", "holds"], "(1 by proof, 1 by measurement)."),
        (["holds", "holds", "holds"], "(1 by proof, 2 by measurement)."),
        (["holds", "fails here", "holds", "fails here"], "(1 by proof, 1 by measurement), 2 “fails"),
        (["holds with a caveat", "not measured here", "not finished"], "(1 by proof), 1 “not finished”"),
    ],
)
def test_the_claims_of_a_sentence_are_counted_in_one_line(verdicts, line):
    """How its claims came out stands in the summary and above them; proofs are told from measurements."""
    kinds = ["identity", "measurement", "replication", "measurement"]
    findings = [finding(f"c{i}", kind, verdict) for i, (kind, verdict) in enumerate(zip(kinds, verdicts, strict=False))]
    names = [one.claim.id for one in findings]
    page = render(findings, [Part("A paper", EDELMAN_2022, (told("So.", *names),))], [])
    assert page.count(line) == 2


@pytest.mark.parametrize(
    ("verdicts", "limited", "partly", "word"),
    [
        (["holds", "holds"], False, False, "yes"),
        (["holds", "holds"], True, False, "yes, with a limit"),
        (["holds", "holds with a caveat"], False, False, "yes, with a limit"),
        (["holds"], True, True, "in part"),
        (["holds", "fails here"], False, False, "in part"),
        (["holds", "undecided at this scale"], False, False, "in part"),
        (["holds", "not measured here"], False, False, "in part"),
        (["holds", "not finished"], False, False, "in part"),
        (["fails here", "not measured here"], False, False, "no"),
        (["fails here"], True, True, "no"),
        (["undecided at this scale"], True, False, "open"),
        (["not measured here", "not finished"], False, False, "not tested"),
        ([], False, False, "not tested"),
    ],
)
def test_a_sentence_has_an_answer_in_a_word(verdicts, limited, partly, word):
    """The answer is a plain yes only where every claim holds, was measured, and reaches the whole sentence."""
    assert answer_word(verdicts, limited=limited, partly=partly) == word


def test_questions_beside_a_sentence_do_not_decide_it():
    """A question of ours that fails is shown and marked, and leaves the answer as it is; an absent claim does not."""
    findings = (finding("alpha", "measurement"), finding("beta", "measurement", "fails here"))
    for absent, word in ((0, "yes"), (1, "in part")):
        sentence = told("So.", "alpha", besides=("beta",), absent=absent)
        page = render(findings, [Part("A paper", EDELMAN_2022, (sentence,))], [])
        assert page.count(f">{word}</span>.</strong>") == 2


@pytest.mark.slow
def test_each_sentence_of_the_library_is_answered_and_listed():
    """Every sentence has a word for its answer on the page, twice, and a place that the contents lead to."""
    findings = [finding(experiment.claim.id, experiment.claim.kind) for experiment in LIBRARY]
    page = render(findings, library.story_of(one.claim.id for one in findings), [])
    sentences = [sentence for part in library.STORY for sentence in part.sentences]
    words = re.findall(r"Found: <span class=\"\w+\">([a-z ,]+)</span>", page)
    assert len(words) == 2 * len(sentences)
    assert set(words) <= {"yes", "yes, with a limit", "in part"}  # as far as the claims reach, were they all to hold
    assert page.count('href="#said-') == page.count('<h3 id="said-') == len(sentences)
    assert all(sentence.limit for sentence in sentences if sentence.partly)


def test_what_is_not_finished_is_not_counted_as_measured():
    """Runs under way count neither way, have no kind beside them, and are said to be what they are."""
    findings = (FINDINGS[0], finding("long", "measurement", "not finished"))
    page = " ".join(render(findings, (last("alpha", "long"),), []).split())
    assert "1 is not finished." in page


def test_the_same_figure_is_drawn_once():
    """A claim whose figure another one shows already has a link to it in place of the drawing."""
    findings = [finding(name, "measurement", figures=(WEIGHTS,)) for name in ("alpha", "beta")]
    page = render(findings, (last("beta", "alpha"),), [])
    assert page.split("<script")[0].count("<svg") == 1
    assert 'data-figure="beta"' in page
    assert 'href="#figure-beta"' in page.split('<article id="alpha"')[1]


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("2^O(s) and e^{R/2}", "2<sup>O(s)</sup> and e<sup>R/2</sup>"),
        ("T^0.7 <T^p", "T<sup>0.7</sup> &lt;T<sup>p</sup>"),
        ("P_∞, κ_T²ε², W_Q", "P<sub>∞</sub>, κ<sub>T</sub>²ε², W<sub>Q</sub>"),
        ("mass_best, KEY_X, x_y_z", "mass_best, KEY_X, x_y_z"),
        ("2^-D and 2^−(s−1)", "2<sup>-D</sup> and 2<sup>−(s−1)</sup>"),
        ("γ = ½T^−⅓, T^¾", "γ = ½T<sup>−⅓</sup>, T<sup>¾</sup>"),
    ],
)
def test_powers_and_indices_are_set(text, page):
    """What follows ^ is raised and a short index lowered; names with an underscore stay as they are."""
    assert str(typeset(text)) == page


def test_every_word_of_the_legend_is_explained():
    """The kinds that cards have are in the legend, before the first sentence; words and letters have a place."""
    page = render(FINDINGS, STORY, [])
    legend = page[page.index("How to read it") : page.index("They say")]
    for kind in ("measured", "replication", "proved: identity", "proved: inequality", "long run"):
        assert f'<span class="kind">{kind}</span>' in legend
    assert 'id="words"' in page
    assert "<dt>m*</dt>" in page


def test_what_is_shipped_is_marked():
    """A finding that rests on data of the repository says so beside its verdict and where it leads the page."""
    long = finding("registered-growth-12800", "measurement", shipped="rows of a <long> run", figures=(WEIGHTS,))
    page = render((long, FINDINGS[2]), (last("registered-growth-12800", "gamma"),), [])
    article = page.split('<article id="registered-growth-12800"')[1].split("</article>")[0]
    assert "rows of a &lt;long&gt; run" in article
    assert "shipped with keyhole" in page.split('class="leads"')[1].split("</figure>")[0]
    assert "shipped with keyhole" not in page.split('<article id="gamma"')[1]


def test_a_longer_run_stands_beside_and_is_marked():
    """A finding that was made elsewhere stands beside this machine's, under its own verdict, and counts nowhere."""
    other = replace(finding("alpha", "measurement", "fails here", measurement="seen <elsewhere>"), scale="paper")
    plain, page = (render(FINDINGS, STORY, [], longer) for longer in ({}, {"alpha": other}))
    article = page.split('<article id="alpha"')[1].split("</article>")[0]
    assert "seen &lt;elsewhere&gt;" in article
    assert "Not of this machine" in article
    summary = [text.split('id="part-1"')[0].split('id="summary"')[1] for text in (plain, page)]
    assert summary[0] == summary[1]
    assert "shipped with keyhole" not in plain


def test_a_shipped_finding_answers_for_what_was_not_measured_here():
    """Its verdict and its first sentence stand at the sentence and at the card, marked, in place of "not tested"."""
    here = finding("alpha", "measurement", "not measured here", measurement="No model.")
    other = replace(finding("alpha", "measurement", measurement="12 of 14 heads. More."), scale="paper")
    story = [Part("A paper", EDELMAN_2022, (told("So.", "alpha"),))]
    plain, page = (" ".join(render((here,), story, [], longer).split()) for longer in ({}, {"alpha": other}))
    assert "not tested</span>" in plain
    summary = page.split('id="summary"')[1].split('id="part-1"')[0]
    assert ">yes</span>" in summary
    assert "findings shipped with keyhole" in summary
    assert "12 of 14 heads." in summary
    assert "More." not in summary
    assert "shipped with keyhole" in page.split('<article id="alpha"')[1].split("</h4>")[1].split("</div>")[0]


def test_a_page_that_is_not_whole_says_so():
    """The counts so far and of all; a whole page has none."""
    assert "4 of 9 claims so far" in render(FINDINGS, STORY, [], expected=9)
    assert "so far" not in render(FINDINGS, STORY, [], expected=len(FINDINGS))


def test_a_claim_that_failed_is_titled_as_a_question():
    """Its title is what was claimed, and did not come out."""
    findings = (finding("alpha", "measurement", "fails here"), finding("beta", "measurement"))
    page = render(findings, [last("alpha", "beta")], [])
    titles = [re.search(r"<h4>(.*?)</h4>", part)[1] for part in page.split("<article")[1:]]
    assert [title.endswith("?") for title in titles] == [True, False]


def test_the_leading_figures_say_what_was_found():
    """A figure at the head of the page has its finding as its text for those who do not see it."""
    lead = finding("conjunctions-uniform", "measurement", "fails here", measurement="m* <grew>.", figures=(WEIGHTS,))
    page = render((lead,), (last("conjunctions-uniform"),), [])
    assert "fails here: m* &lt;grew&gt;." in page.split('class="leads"')[1].split("</figure>")[0]


def test_what_is_not_measured_here_counts_neither_way():
    """It is in neither count, whatever its kind."""
    findings = (*FINDINGS, finding("epsilon", "measurement", "not measured here"))
    story = (*STORY, last("epsilon"))
    page = " ".join(render(findings, story, []).split())
    assert "Of 2 that were measured" in page
    assert "counts neither way." in page
    assert "counts neither way" not in " ".join(render(FINDINGS, STORY, []).split())


def test_every_claim_answers_one_sentence():
    """The story of the library names each of its claims once, and no other."""
    named = [
        name for part in library.STORY for sentence in part.sentences for name in (*sentence.claims, *sentence.besides)
    ]
    assert sorted(named) == sorted(experiment.claim.id for experiment in LIBRARY)


def test_a_claim_of_ones_own_comes_last():
    """A claim that the story does not name is told at its end; sentences without a finding are left out."""
    story = library.story_of(["mine", "floor"])
    assert story[-1].sentences[0].claims == ("mine",)
    assert story[0].sentences[0].besides == ("floor",)
    assert story[0].sentences[0].absent == len(library.STORY[0].sentences[1].claims)


def test_everything_is_shown_and_escaped():
    """Statement, prediction, verdict, caveat, command, seed, numbers and references stand on the page, as text."""
    page = render(FINDINGS, STORY, [("a thing", "why not")])
    for text in (
        "It is &lt;so&gt; &amp; more.", "it holds", "if not", "only here", "seen &lt;/script&gt;", "fails here",
        "undecided at this scale", "keyhole reproduce --only alpha --scale quick --seed 7", "seed 7", "1.5", "why not",
        "@misc{edelman2022inductive",
    ):  # fmt: skip
        assert text in page, text
    assert page.count("<math") == len(FINDINGS)


def test_page_names_nothing_outside():
    """No element refers to another file or host; every link leads to a place on the page."""
    outside = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", render(FINDINGS, STORY, []))
    assert not re.findall(r"<[^>]+\ssrc\s*=", outside)
    links = [link for link in re.findall(r'\shref="([^"]*)"', outside) if link != "data:,"]
    assert links
    assert all(f'id="{link[1:]}"' in outside for link in links)


@pytest.mark.parametrize("experiment", LIBRARY, ids=lambda experiment: experiment.claim.id)
def test_every_formula_is_mathml(experiment):
    """The ledger's formulas convert to well-formed MathML with nothing left of LaTeX."""
    text = "".join(ET.fromstring(to_mathml(experiment.claim.formula)).itertext())  # noqa: S314  (our own)
    assert text.strip()
    assert "\\" not in text


def test_files_beside_the_page(tmp_path):
    """The folder holds the page, the findings and every figure in three formats."""
    page = write_report(FINDINGS, STORY, [], tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    figures = {
        f"figures/{name}.{ending}" for name in ("alpha-1", "alpha-2", "beta") for ending in ("svg", "png", "csv")
    }
    assert names == {"index.html", "findings.json", *figures}
    assert page == tmp_path / "index.html"


LAST = (last("gamma", "delta"), last("delta"))


def test_the_same_findings_are_not_written_again(tmp_path):
    """A second report of the same findings leaves the files alone; other findings replace them."""
    page = write_report(FINDINGS[2:], LAST[:1], [], tmp_path)
    page.write_text("kept")
    assert write_report(FINDINGS[2:], LAST[:1], [], tmp_path).read_text() == "kept"
    assert "The claim delta" in write_report(FINDINGS[3:], LAST[1:], [], tmp_path).read_text()
