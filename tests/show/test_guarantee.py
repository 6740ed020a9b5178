"""What norms guarantee, as it is printed, from the record alone."""

import json
from dataclasses import replace

import pytest

import keyhole
from keyhole.api.bound import bound
from keyhole.bounds import pair_construction
from keyhole.show.guarantee import bound_document, bound_html, explained_document
from keyhole.show.text import to_text

GAP = (
    "gap: how far the mean loss on the training set and the expected loss on new inputs can lie apart. The loss: any "
    "that is 1-Lipschitz in the output and has values in [0, 1], such as a ramp"
)
DRAWN = (
    "m: training samples; the probability is over their draw. A bound holds for all models at once whose norms are no "
    "larger than those of compiled and:3"
)
OCCAM = (
    "Occam: with probability ≥ 0.99, every function of 3 positions that fits all 100,000 samples errs on new inputs at "
    "a rate of at most: 0.0002514"
)


@pytest.fixture(scope="module")
def record():
    """The record of one answer, as JSON gives it back."""
    return json.loads(bound("and:3", 1e5, 100, gap=0.2, contexts=[10**2, 10**4]).to_json())


def test_the_answer_in_full(record):
    """A sentence per theorem, samples for the gap, finite classes; the floor is rounded down, the error up."""
    assert to_text(bound_document(record), 250).splitlines()[:20] == [
        GAP,
        DRAWN,
        "gap ≤ 0.0876 with probability ≥ 0.99 at m = 100,000 (Theorem T: one layer with a fixed query)",
        "gap ≤ 0.284 with probability ≥ 0.99 at m = 100,000 (Theorem L: decision lists, any law)",
        "gap ≤ 2.01 with probability ≥ 0.99 at m = 100,000 (Theorem S: one layer by covers; VACUOUS)",
        "gap ≤ 28.4 with probability ≥ 0.99 at m = 100,000 (Theorem P: one layer by its path norm; VACUOUS)",
        "gap ≤ 2.01 with probability ≥ 0.99 at m = 100,000 (Theorem D: any depth by covers; VACUOUS)",
        "VACUOUS: the bound is not below the largest loss, so it says nothing.",
        "Theorems T and L use the path norm P_∞, Theorem P the path norm P. Law: how inputs are distributed.",
        *(
            f"{title}: {count:,} samples for a gap of 0.2"
            for title, count in list(record["samples_for_gap"].items())[1:]
        ),
        *(f"Not evaluated: {refused['theorem']}. {refused['reason']}" for refused in record["refused"]),
        OCCAM,
        f"{record['finite_classes'][1]['name']}: 85",
        "identification: the same, whether or not the samples show every pattern: 140",
        "information floor: with fewer samples every learner names the positions of some target wrongly: 17.3",
        "",
    ]


def test_a_bound_says_of_which_models_it_holds():
    """Norms known before the data bound every model with no larger ones; measured norms are said to be measured."""
    profile = pair_construction("and", 100, 3)
    known, measured = (" ".join(str(bound(profile, 1e5, measured=each)).split()) for each in (False, True))
    assert "A bound holds for all models at once whose norms are no larger than those given" in known
    assert "A bound holds" not in measured
    assert "norms measured after training" in measured
    compiled = keyhole.compile("x3 & x17", 64)
    assert "no larger than those of compiled x3 & x17 gap" in " ".join(str(bound(compiled, 1e5)).split())


def test_growth_stands_in_columns(record):
    """A line per context below the theorem and the norms, the first without an exponent, then the limit."""
    lines = to_text(bound_document(record)).splitlines()
    start = lines.index("Theorem T: one layer with a fixed query; norms fixed")
    assert lines[start + 1 : start + 5] == [
        "  T            samples needed   exponent of log T",
        "  100          1.918e+04",
        "  10,000       3.466e+04        0.949",
        "  limit of the exponent: 1: the complexity grows like √log T exactly, so samples",
    ]


def test_everything_explained(record):
    """The answer comes first; every rival is named with its number or the reason that it has none."""
    shown = to_text(explained_document(record), 1000)
    assert shown.startswith(to_text(bound_document(record), 1000))
    assert shown.count("if one norm alone is halved: change of ") == 5
    rivals = shown.split("rivals on the same norms\n")[1].splitlines()
    assert [line.split()[0] for line in rivals] == [rival["key"] for rival in record["rivals"]]
    (first_version,) = [line for line in rivals if line.startswith("  R7")]
    assert "two-sided gap no number  [remark; " in first_version
    assert first_version.endswith("only by logarithms]")


def test_an_infinite_rival_is_not_one_without_a_number(record):
    """∞ where the number is infinite, with its remark."""
    rival = {**record["rivals"][0], "value": None, "value_reason": "not finite", "remark": "rough"}
    shown = to_text(explained_document({**record, "rivals": [rival]}), 1000)
    assert " ∞  [" in shown
    assert shown.endswith("rough]")


def test_every_derivation_is_on_the_page(record):
    """One block per theorem."""
    assert bound_html(record).count("keyhole-guarantee") == 5


def test_norms_too_large_for_any_sample_are_explained():
    """Where no number of samples is enough, the reason stands in the place of what halving does."""
    profile = pair_construction("and", 100, 3)
    larger = {name: 1e40 * getattr(profile, name) for name in ("readout", "path", "path_inf")}
    answer = bound(replace(profile, **larger), 1e5)
    told = [stated["sensitivity"] for stated in answer.record()["guarantees"]]
    assert any("No number of samples" in sensitivity.get("reason", "") for sensitivity in told)
    assert "none can be told: No number of samples" in " ".join(answer.explain().split())
