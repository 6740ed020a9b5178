"""What do these norms guarantee?"""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

import keyhole
from keyhole.api.bound import bound
from keyhole.api.norm_sources import NormSource, file_norms, json_norms
from keyhole.attention.normalisers import Entmax15, Hardmax, Linear, Sigmoid, Softmax, Sparsemax, Uniform
from keyhole.boolean.families import conjunction
from keyhole.bounds import DEEP, ROUTES, TABULATED, guarantee, pair_construction
from keyhole.bounds.theorems.norm_fields import Dial
from keyhole.compiler.constructions.additive import additive_plan
from keyhole.compiler.export.model_file import save_model
from keyhole.compiler.norms import plan_profile
from keyhole.errors import AssumptionError, CheckpointError, DataError
from keyhole.files.model import read_model, write_model
from keyhole.files.norms import dumps, norms_template, parse_norms
from keyhole.norm_profile import CONSTANTS, BlockNorms, HeadNorms, MatrixNorms, _least


def measured(profile):
    """The same norms, read off a trained model."""
    return NormSource("norms", profile, measured=True)


def test_theorem_t_is_shown_first_for_one_layer():
    """Every theorem applies to a compiled head, Theorem T first and smallest; keyhole.bound is the function."""
    answer = keyhole.bound(pair_construction("and", 100, 3), 1e5, law="uniform")
    routes = ["tabulated", "lists", "product-lists", "cover", "path", "deep"]
    assert [found.route for found in answer.guarantees] == routes
    assert answer.best == "tabulated"
    assert not answer.refused
    assert not answer.vacuous
    rows = str(answer).partition("theorem ")[2].splitlines()[1:7]
    assert [row.split()[0] for row in rows] == ["T:", "L:", "L,", "S:", "D:", "P:"]


def test_the_smaller_of_theorems_t_and_l_comes_first():
    """A head whose scores look at the symbol: Theorem L under any law, and smaller still for independent symbols."""
    profile = replace(pair_construction("and", 1000, 3), spread=4.0)
    assert bound(profile, 1e7).guarantees[0].route == "lists"
    answer = bound(profile, 1e7, law="uniform")
    assert answer.guarantees[0].route == "product-lists"
    assert answer.smallest is answer.guarantees[0]
    assert bound(profile, 1e7, law=0.2).smallest.value > answer.smallest.value
    assert any("at least 0.5" in line for line in answer.smallest.valid_if)


def test_bounds_of_others_that_are_smaller_are_shown():
    """Where Theorems T and L do not apply, parameter counting and description length are below ours, and named."""
    profile = pair_construction("and", 100, 3)
    lines = str(bound(replace(profile, path_inf=None), 1e8)).replace("\n  ", " ")
    assert "not ours: parameter counting 0.202 (two-sided gap), description length 0.0672 (one-sided gap)" in lines
    values = [float(row.split()[-2]) for row in lines.splitlines()[2:5]]
    assert values == sorted(values)
    assert "not ours" not in str(bound(profile, 1e8))


def test_a_law_that_is_none_is_refused():
    """A word that is no law, a probability above that of equal shares, a file with one."""
    with pytest.raises(AssumptionError, match="A law of inputs is"):
        bound("and:3", 1e6, 100, law="gaussian")
    for p in (0.6, 0.0):
        with pytest.raises(AssumptionError, match="rarest of 2 symbols"):
            bound("and:3", 1e6, 100, law=p)


def test_finite_classes_stand_beside_a_named_function():
    """Occam, identification and the floor of 3-juntas of 100 bits at m = 200; none for a bare profile."""
    finite = [each.value for each in bound("and:3", 200, 100).finite_classes]
    assert finite == pytest.approx([0.118, 85, 140, 17.30], abs=5e-3)
    assert bound(pair_construction("and", 100, 3), 200).finite_classes == ()


def test_a_file_and_a_profile_say_the_same(tmp_path):
    """A profile, its JSON and its name agree; a context given beside them is the number of positions."""
    path = tmp_path / "norms.json"
    profile = pair_construction("parity", 30, 3)
    path.write_text(dumps(profile), "utf8")
    values = {bound(source, 1e6, 30).smallest.value for source in (json_norms(path), profile, "parity:3")}
    assert len(values) == 1
    assert bound(json_norms(path), 1e6).smallest.value in values


def test_a_context_counts_the_constant_tokens_beside_it(tmp_path):
    """With three constant tokens a context of 100 is 103 rows, in a profile and in a file."""
    profile = replace(pair_construction("and", 30, 3), constant_tokens=3, tokens=33)
    path = tmp_path / "norms.json"
    path.write_text(dumps(profile), "utf8")
    for source in (profile, json_norms(path)):
        assert {found.profile.tokens for found in bound(source, 1e6, 100).guarantees} == {103}


def test_what_does_not_apply_is_refused_with_its_reason():
    """Two layers leave only Theorem D; a profile without P_∞ leaves Theorem T out."""
    profile = pair_construction("and", 30, 3)
    deep = bound(replace(profile, blocks=profile.blocks * 2), 1e6)
    assert [found.route for found in deep.guarantees] == ["deep"]
    assert len(deep.refused) == 5
    assert all("one attention layer" in refused.reason for refused in deep.refused)
    assert deep.vacuous
    partial = bound(replace(profile, path_inf=None), 1e6)
    assert "has no path_inf" in partial.refused[0].reason


def test_samples_for_a_gap_and_measured_norms():
    """The samples each theorem needs, and the price of norms measured after training."""
    answer = bound("and:3", 1e5, 100, gap=0.2)
    needed = answer.samples_for_gap["Theorem T: one layer with a fixed query"]
    assert needed == pytest.approx(1.92e4, rel=0.02)
    assert f"{needed:,}" in str(answer)
    assert bound(measured(pair_construction("and", 100, 3)), 1e5).smallest.value > answer.smallest.value


def test_growth_at_fixed_norms_and_end_to_end():
    """Theorem T: exponents near 1 both ways. Covers: rising below 1 at fixed norms, above 2 end to end."""
    answer = bound("and:3", 1e5, 100, contexts=[10**2, 10**4, 10**8])
    found = {(grown.theorem.split(":")[0], grown.norms.split()[0]): grown for grown in answer.growth}
    assert len(found) == 10
    for kind in ("fixed", "compiled"):
        assert all(0.9 < e < 1 for e in found["Theorem T", kind].exponents_of_log_T)
    fixed, grown = found["Theorem S", "fixed"], found["Theorem S", "compiled"]
    assert 0 < fixed.exponents_of_log_T[0] < fixed.exponents_of_log_T[1] < 1
    assert all(2 < e < 3 for e in grown.exponents_of_log_T)
    assert fixed.limit.startswith("1:")
    assert grown.limit.startswith("3:")


def test_a_record_is_plain_and_finite():
    """The record is JSON without NaN; what has no number is null with a reason; steps carry their sources."""
    answer = bound(pair_construction("and", 30, 3), 1e6, gap=0.2, contexts=[10, 100])
    text = json.dumps(answer.record(), allow_nan=False)
    record = json.loads(text)
    (first_version,) = [rival for rival in record["rivals"] if rival["key"] == "R7"]
    assert first_version["value"] is None
    assert "embedding dimension" in first_version["value_reason"]
    assert record["guarantees"][0]["derivation"]["parts"][0]["source"].startswith("keyhole")
    assert len(record["growth"]) == 5


@pytest.mark.slow
def test_a_compiled_file_has_the_bound_of_its_norms(tmp_path):
    """A model on disk, the plan it holds and the closed form say the same gap."""
    path = save_model(keyhole.compile("x3 & x17 & x40", 1000, output="bits"), tmp_path / "and.safetensors")
    stored, closed = bound(file_norms(path), 1e6), bound("and:3", 1e6, 1000)
    for ours, theirs in zip(stored.guarantees, closed.guarantees, strict=True):
        assert ours.value == pytest.approx(theirs.value, rel=1e-9)  # logarithms and square roots round differently


def test_the_figure_shows_every_sample_size():
    """One row per theorem, kind of norms and context; without contexts there is none."""
    answer = bound("and:3", 1e6, 1000, contexts=(100, 1000))
    assert [row["m"] for row in answer.figure().rows] == [m for grown in answer.growth for m in grown.samples]
    with pytest.raises(AssumptionError, match="without contexts"):
        bound("and:3", 1e6, 1000).figure()


def test_refusals():
    """A name without a context, a context of zero, norms that no theorem takes."""
    with pytest.raises(AssumptionError, match="give `context`"):
        bound("and:3", 100)
    with pytest.raises(AssumptionError, match="at least one position"):
        bound("and:3", 100, 0)
    with pytest.raises(AssumptionError, match=r"^δ is the chance"):
        bound("and:3", 100, 10, delta=0.0)
    profile = pair_construction("and", 30, 3)
    empty = replace(profile, blocks=(BlockNorms(()),), path_inf=None, path=None)
    with pytest.raises(AssumptionError, match="No theorem applies"):
        bound(empty, 100)
    with pytest.raises(AssumptionError, match="needs a context of at least 3"):
        bound("and:3", 100, 2)
    with pytest.raises(AssumptionError, match="at least one sample"):
        bound("and:3", inf, 20)


def test_what_is_compiled_is_bounded_as_its_formula_and_its_file(tmp_path):
    """`bound(compile(…))` is the bound of the formula at that context, and of the file; another context is refused."""
    made = keyhole.compile("x1 & ~x3", 16)
    path = made.save(tmp_path / "m.safetensors")
    chained, formula, file = bound(made, 1e6), bound("x1 & ~x3", 1e6, 16), bound(file_norms(path), 1e6)
    values = [[stated.value for stated in each.guarantees] for each in (chained, formula, file)]
    assert values[0] == values[1] == values[2]
    assert chained.finite_classes == formula.finite_classes != ()
    assert chained.source == "compiled x1 & ~x3"
    assert not chained.guarantees[0].measured
    with pytest.raises(AssumptionError, match="context of 16, and 17 was given"):
        bound(made, 1e6, 17)


def example():
    """The norms that a newcomer is given to edit."""
    return parse_norms({name: value for name, value in json.loads(norms_template()).items() if name != "schema"})


def test_a_bound_beyond_all_numbers_says_so():
    """300 layers multiply norms beyond what is computed with: one sentence, which names the layers."""
    profile = example()
    with pytest.raises(AssumptionError, match=r"model of 300 layers .* larger than any number .* fewer layers"):
        bound(replace(profile, blocks=profile.blocks * 300), 1e6)


@pytest.mark.parametrize("symbols", [5_000, 50_257, 10**9])
def test_a_vocabulary_is_bounded(symbols):
    """2^A is no number to compute with, and ln 2^A is: Theorem T grows like the root of A."""
    profile = replace(example(), symbols=symbols)
    found = {stated.route: stated for stated in bound(profile, 1e30).guarantees}["tabulated"]
    four = guarantee(TABULATED, replace(profile, symbols=4 * symbols), 1e30)
    assert 1.9 < four.value / found.value < 2.0


@pytest.mark.parametrize(("context", "samples"), [(100, 5.3e5), (1000, 7.5e5), (10_000, 9.7e5)])
def test_the_additive_construction_in_the_table_of_sizes(context, samples):
    """AND 0/1 by Construction B, ρ = ½, gap 0.2, δ = .01: the theory's row, to half its last printed digit."""
    plan = additive_plan(conjunction((0, 1, 2)), context, 0.5, "bits")
    found = guarantee(TABULATED, plan_profile(plan), 1e6).samples_for(0.2)
    assert found == pytest.approx(samples, abs=5e3)


def test_a_file_that_is_not_as_written_has_no_bound(tmp_path):
    """A flipped byte, or a context that is not the file's, is refused with what to do."""
    path = save_model(keyhole.compile("x3 & x5", 16), tmp_path / "and.safetensors")
    with pytest.raises(AssumptionError, match="context of 16, and 100 was given"):
        bound(file_norms(path), 1e6, 100)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="is not as it was written"):
        file_norms(path)


def test_measured_norms_share_delta_among_the_theorems():
    """The smallest of six bounds is chosen after looking: each is computed at δ/6, and 1 − δ is promised of it.

    Signs seen are not used.
    """
    profile = pair_construction("and", 100, 3)
    answer = bound(measured(profile), 1e5)
    assert all(found.delta_spent <= 0.01 / 6 for found in answer.guarantees)
    assert all(found.delta == 0.01 for found in answer.guarantees)
    signed = guarantee(TABULATED, replace(profile, readout_nonnegative=False), 1e5, measured=True)
    assert guarantee(TABULATED, profile, 1e5, measured=True).value == signed.value


FORGED = {
    "an unknown construction": {"construction": "Z9"},
    "another construction": {"construction": "B1"},
    "a huge context": {"context": 10**30},
    "another function": {"function": "x3 & x6"},
    "another margin": {"margin": 1.0},
    "an entry that nothing gives": {"note": "secure"},
}


@pytest.mark.parametrize("claim", FORGED)
def test_a_forged_file_has_no_bound(claim, tmp_path):
    """With every digest made anew an edited claim is found all the same, and the line that fails is named."""
    path = save_model(keyhole.compile("x3 & x5", 100), tmp_path / "and.safetensors")
    stored = read_model(path)
    assert file_norms(path).profile.path_inf
    kept = {name: value for name, value in stored.description.items() if name not in {"digest", "digests"}}
    write_model(path, stored.tensors, kept | FORGED[claim])
    with pytest.raises(CheckpointError, match=r"is not as it was written \((construction|proof|tables|description): "):
        file_norms(path)


def test_a_forged_table_has_no_bound(tmp_path):
    """An entry of 1e308 is no entry of the construction; nothing is computed with it, and nothing is warned of."""
    path = save_model(keyhole.compile("x3 & x5", 100), tmp_path / "and.safetensors")
    stored = read_model(path)
    kept = {name: value for name, value in stored.description.items() if name not in {"digest", "digests"}}
    for name in ("tables.readout", "tables.head0.focus", "tables.head0.values", "dense.head0.key"):
        array = np.array(stored.tensors[name])
        array.flat[0] = 1e308
        write_model(path, {**stored.tensors, name: array}, kept)
        with pytest.raises(CheckpointError, match="is not as it was written"):
            file_norms(path)


HEAD = ("blocks", 0, "heads", 0)
COLUMN = {"columns": 1, "spectral": 2.0, "columns21": 2.0, "entries11": 10.0}
IMPOSSIBLE = {
    "softmax has the constant 1": {("normaliser_constant",): 0.0},
    "softmax has the constant 1, a": {("normaliser_constant",): 2.0},
    "normaliser_constant is None": {("normaliser_constant",): None},
    "'softmin' is not a normaliser": {("normaliser",): "softmin"},
    "sparsemax has no constant free of T": {("normaliser",): "sparsemax"},
    "uniform has the constant 0": {("normaliser",): "uniform"},
    "query_radius = 100 above token_radius = 1": {("query_radius",): 100.0},
    "token_diameter = 2.5 above 2 · token_radius": {("token_diameter",): 2.5},
    "path_inf = 4 above path · token_radius": {("path",): 1.0},
    "path = 5 above what readout and the matrices allow = 0": {("readout",): 0.0},
    "path = 5 above what readout and the matrices allow = 4": {("readout",): 1.0},
    "path_inf = 4 above what readout, matrices and radii allow = 0": {("readout",): 0.0, ("path",): None},
    "what readout and the matrices force = 5.99994 above path = 5": {
        (*HEAD, "value", name): number for name, number in COLUMN.items()
    },
    "spread = 4 above 2 · token_diameter": {("spread",): 4.0, ("token_diameter",): 0.5},
    "spread = 7 above 2 · token_radius": {("spread",): 7.0},
    "query = 4 above score.spectral · query_radius": {(*HEAD, "query"): 4.0},
    "spectral = 3 above frobenius = 2": {(*HEAD, "score", "frobenius"): 2.0},
    "above √rank · spectral": {(*HEAD, "score", "spectral"): 0.1, (*HEAD, "query"): 0.1},
    "frobenius = 2 above columns21 = 1": {(*HEAD, "value", "columns21"): 1.0},
    "frobenius = 2 above rows21 = 1": {(*HEAD, "value", "rows21"): 1.0},
    "columns21 = 9 above √columns · frobenius": {(*HEAD, "value", "columns21"): 9.0},
    "rows21 = 17 above √rows · frobenius": {(*HEAD, "value", "rows21"): 17.0},
    "entries11 = 49 above √rows · columns21": {(*HEAD, "value", "entries11"): 49.0, (*HEAD, "value", "rows21"): 14.0},
    "entries11 = 41 above √columns · rows21": {(*HEAD, "value", "entries11"): 41.0},
    "columns21 = 6 above entries11 = 5": {(*HEAD, "value", "entries11"): 5.0},
}


@pytest.mark.parametrize("sentence", IMPOSSIBLE)
def test_norms_that_no_model_has(sentence, tmp_path):
    """Contradictory norms, and constants that are not the normaliser's own, are refused in a file and from Python."""
    record = json.loads(norms_template())
    profile = parse_norms({name: value for name, value in record.items() if name != "schema"})
    for way, value in IMPOSSIBLE[sentence].items():
        inner = record
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = value
        profile = replace(profile, **{way[0]: value}) if len(way) == 1 else Dial(way, "").turn(profile, value)
    path = tmp_path / "norms.json"
    path.write_text(json.dumps(record), "utf8")
    with pytest.raises(DataError, match=sentence):
        json_norms(path)
    with pytest.raises(AssumptionError, match=sentence):
        bound(profile, 1e9)


def test_a_query_longer_than_the_rows_is_refused_by_theorem_d():
    """Its layers are covered for rows of norm B_X; also where the theorem is asked by itself."""
    profile = replace(pair_construction("and", 30, 3), query_radius=100.0)
    with pytest.raises(AssumptionError, match="takes the query for one of the rows"):
        guarantee(DEEP, profile, 1e6)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_the_constant_of_softmax_is_its_own(route):
    """A theorem that is asked by itself takes no other constant either."""
    profile = replace(pair_construction("and", 30, 3), normaliser_constant=0.0)
    with pytest.raises(AssumptionError, match="softmax has the constant 1"):
        guarantee(route, profile, 1e6)


def test_sparsemax_stays_refused_through_a_file(tmp_path):
    """It has no constant; written as null and read again it still has none, and no theorem applies."""
    profile = replace(pair_construction("and", 30, 3), normaliser="sparsemax", normaliser_constant=None)
    path = tmp_path / "norms.json"
    path.write_text(dumps(profile), "utf8")
    for source in (profile, json_norms(path)):
        with pytest.raises(AssumptionError, match="No theorem applies"):
            bound(source, 1e6)


def test_every_normaliser_has_its_constant_in_the_profile():
    """The table of names and constants is that of the normalisers themselves."""
    made = (Softmax(), Uniform(), Sparsemax(), Entmax15(), Hardmax(), Sigmoid(), Linear())
    assert {one.name: one.constant for one in made} == dict(CONSTANTS)


def test_a_veto_is_bounded_where_its_scores_are_not():
    """A 3-AND with scores ln T at T = 1000: on uniform bits Theorem L promises .0302, and Theorem T says nothing."""
    model = keyhole.compile("and:3", 1000, construction="veto", output="bits", leak=998 / 1001)
    found = keyhole.bound(model, 1e6, law=0.5)
    assert found.smallest.value == pytest.approx(0.03016178, rel=1e-6)
    assert [one.vacuous for one in found.guarantees if one.route == "tabulated"] == [True]


def test_under_a_law_the_better_construction_is_taken():
    """A 3-AND in bits on uniform bits: the veto (P_∞ = 1) promises .0302, and an average .0328; else not."""
    plain, known = keyhole.bound("and:3", 1e6, 1000), keyhole.bound("and:3", 1e6, 1000, law="uniform")
    assert plain.construction is None
    assert known.construction == "veto"
    assert (round(plain.smallest.value, 4), round(known.smallest.value, 4)) == (0.0328, 0.0302)
    for other in ("x0 & x1 & x2", "parity:3", "majority:3"):  # in signs the veto has P_∞ = 3, and pays for signs
        found = keyhole.bound(other, 1e6, 1000, law="uniform")
        assert found.construction is None
        assert found.smallest.value <= keyhole.bound(other, 1e6, 1000).smallest.value


def test_growth_is_that_of_the_construction_taken():
    """At each context the norms are those of the veto, so the samples grow like log T."""
    grown = keyhole.bound("and:3", 1e6, 1000, law="uniform", contexts=(100, 10_000)).growth
    compiled = next(one for one in grown if one.norms != "fixed" and "independent" in one.theorem)
    fixed = next(one for one in grown if one.norms == "fixed" and "independent" in one.theorem)
    assert compiled.samples == fixed.samples  # P_∞ = 1 at every context


@pytest.mark.parametrize("concatenated", [True, False])
def test_heads_side_by_side_force_the_least_of_them(concatenated):
    """Two heads W_V = (1), W_1 = W_C = I₂, w = e₁: P = 1 side by side, and summed heads force 2."""
    one = MatrixNorms(1, 1, 1.0, 1.0, 1.0, 1.0, 1.0)
    head = HeadNorms(one, one)
    block = BlockNorms((head, head), concatenated=concatenated)
    assert _least(block) == pytest.approx(1.0 if concatenated else 2.0, rel=1e-4)  # norms may be rounded
