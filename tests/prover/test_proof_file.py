"""Certificates: what the prover proves, the checker accepts; what it accepts is true, whoever wrote it."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keyhole.attention import GELU, TanhGELU, tabulate
from keyhole.boolean import Junta, Levels
from keyhole.bounds.finite import certificate_nats, exact_error
from keyhole.compiler import prove as prove_plan
from keyhole.compiler import to_tabulated
from keyhole.errors import OutputError
from keyhole.languages import Automaton, AutomatonClasses, CountClasses
from keyhole.prover import keyhole_check, prove_on_words
from keyhole.prover.keyhole_check import Arithmetic, Box, Check, Norm, Refused, check_text
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.proof_file import (
    SampleBound,
    certificate_of_function,
    certificate_of_junta,
    certificate_of_words,
    certificate_of_wrong_word,
)

from helpers.certificates import enumerated, truth
from helpers.compiled_plans import FORMULAS, all_plans
from helpers.planted_juntas import FEW, answers, plans, planted
from helpers.random_models import Plan, random_model

CHECKER = Path(keyhole_check.__file__)
MUTATIONS = int(os.environ.get("KEYHOLE_MUTATIONS", "300"))


def margin_of(text):
    """The margin that the checker grants."""
    ((_, _, number, power),) = check_text(text)
    return number * 2.0**power


def of_plan(plan):
    """The certificate of a compiled plan."""
    rule, positions = plan.function.rule, plan.function.positions
    stated = rule if isinstance(rule, Levels) else Junta(positions, 2, rule.values)
    threshold = 0.0 if plan.output == "signs" else 0.5
    return certificate_of_function(to_tabulated(plan), positions, stated, threshold=threshold)


class TestCompiled:
    """Every construction."""

    @staticmethod
    @pytest.mark.slow
    @pytest.mark.parametrize("output", ["signs", "bits"])
    @pytest.mark.parametrize("formula", FORMULAS)
    def test_each_is_accepted_with_the_compilers_margin(formula, output):
        """The margins agree but for what each rounds away."""
        for plan in all_plans(formula, output=output):
            text = of_plan(plan)
            assert truth(text)
            assert margin_of(text) == pytest.approx(prove_plan(plan).margin, abs=1e-9)

    @staticmethod
    def test_a_plan_that_computes_something_else_has_no_certificate():
        """Its function is stated otherwise in one place."""
        plan = all_plans("maj(x1, x2, x5)")[0]
        rule = plan.function.rule
        wrong = Levels((*rule.levels[:-1], not rule.levels[-1]), rule.negated)
        with pytest.raises(OutputError, match="No certificate"):
            certificate_of_function(to_tabulated(plan), plan.function.positions, wrong)


def at_least(tokens, count, *, automaton):
    """The claim "at least so many ones" as classes."""
    if automaton:
        moves = np.array([[state, min(state + 1, tokens)] for state in range(tokens + 1)])
        many = np.arange(tokens + 1) >= count
        counter = Automaton(moves, 0, many)
        return [(wanted, AutomatonClasses(tokens, counter, (many == wanted)[None])) for wanted in (True, False)]
    ends = [(True, count, tokens), (False, 0, count - 1)]
    return [
        (wanted, CountClasses(tokens, (False, True), np.array([low]), np.array([high]))) for wanted, low, high in ends
    ]


class TestTrained:
    """Random models with norms, activations, residuals, of tables and of weights."""

    @staticmethod
    @pytest.mark.slow
    @settings(max_examples=FEW)
    @given(plans, st.integers(0, 3), st.booleans())
    def test_a_proof_of_equality_is_accepted(plan, size, of_weights):
        """Its margin is above zero, and never above the true one; the prover, which cuts further, may state more."""
        positions = tuple(range(min(size, plan.tokens)))
        model = random_model(plan) if of_weights else planted(plan, positions)
        tables = tabulate(model) if of_weights else model
        _, f, _, junta = answers(tables, positions)
        verdict = prove_equal(tables, junta, time_limit=20.0)
        assume(verdict.margin is not None and verdict.margin > 1e-6)
        text = certificate_of_junta(model, junta)
        assert truth(text)
        assert 0 < margin_of(text) <= np.abs(f).min() + 1e-9
        np.testing.assert_allclose(enumerated(text)[1], f, atol=1e-7, rtol=1e-7)

    @staticmethod
    @pytest.mark.slow
    @settings(max_examples=FEW)
    @given(plans, st.booleans(), st.data())
    def test_a_claim_about_words_is_accepted_or_refuted(plan, automaton, data):
        """By counts and by automata; wrong words too."""
        plan = replace(plan, symbols=2)
        count = data.draw(st.integers(1, plan.tokens))
        model, reads = random_model(plan), tuple(range(plan.tokens))
        classes = at_least(plan.tokens, count, automaton=automaton)
        if data.draw(st.booleans()):  # one class alone: more often true
            classes = classes[:1]
        verdict = prove_on_words(tabulate(model), reads, classes, time_limit=20.0)
        assume(verdict.status != "UNDECIDED")
        if verdict.counterexample is not None:
            assume(abs(verdict.output) > 1e-6)
            text = certificate_of_wrong_word(model, (reads, classes), verdict.counterexample.tolist())
            assert margin_of(text) == pytest.approx(abs(verdict.output), abs=1e-7)
        else:
            assume(verdict.margin > 1e-6)
            text = certificate_of_words(model, reads, classes)
            assert margin_of(text) > 0
        assert truth(text)


def some_certificates():
    """Certificates of every kind, of contexts that can be enumerated."""
    texts = [of_plan(plan) for plan in all_plans("x1 & ~x4", 5)[:3]]
    texts.append(of_plan(all_plans("table(0110; x0, x4)", 6)[-1]))
    for seed, norms, gelu in ((1, False, False), (2, False, True), (3, True, False), (4, True, True)):
        plan = Plan(seed=seed, tokens=4, norms=norms, gelu=gelu, final_norm=norms, heads=2)
        model = random_model(plan)
        tables = tabulate(model)
        _, f, _, junta = answers(tables, (0, 1, 2, 3))
        if np.abs(f).min() > 1e-3:
            texts.append(certificate_of_junta(model, junta))
        reads = tuple(range(4))
        for automaton in (False, True):
            for shift in (-3.0, 3.0):
                pushed = replace(model, readout=replace(model.readout, bias=np.asarray(shift)))
                classes = at_least(4, 2, automaton=automaton)[:1] if shift > 0 else at_least(4, 3, automaton=automaton)
                found = prove_on_words(tabulate(pushed), reads, classes, time_limit=5.0)
                if found.status == "PROVED":
                    texts.append(certificate_of_words(pushed, reads, classes))
                elif found.counterexample is not None:
                    word = found.counterexample.tolist()
                    texts.append(certificate_of_wrong_word(pushed, (reads, classes), word))
    return texts


def mutated(text, rng):
    """The text with one to three small edits, favouring numbers and answers."""
    for _ in range(rng.integers(1, 4)):
        rows = text.split("\n")
        at = int(rng.integers(len(rows)))
        words = rows[at].split(" ")
        which = int(rng.integers(len(words)))
        match rng.integers(8):
            case 0:
                del rows[at]
            case 1:
                other = int(rng.integers(len(rows)))
                rows[at], rows[other] = rows[other], rows[at]
            case 2:
                rows.insert(at, rows[int(rng.integers(len(rows)))])
            case 3:
                words[which] = str(rng.choice(["0", "1", "-1", "nan", "inf", "1e9", "-", "*", "999999999999999999999"]))
            case 4 if re.fullmatch(r"-?\d+", words[which]):
                words[which] = str(int(words[which]) * int(rng.choice([-1, 2, 3])) + int(rng.integers(-3, 4)))
            case 5 if words[which]:
                place = int(rng.integers(len(words[which])))
                words[which] = words[which][:place] + str(rng.integers(10)) + words[which][place + 1 :]
            case 6 if words[which]:
                words[which] = words[which].translate(str.maketrans("01", "10"))
            case _:
                other = int(rng.integers(len(words)))
                words[which], words[other] = words[other], words[which]
        if at < len(rows) and len(words) > 1:
            rows[at] = " ".join(words)
        text = "\n".join(rows)
    return text


class TestMutations:
    """Edits of weights, duals, cells, claims and headers."""

    @staticmethod
    @pytest.mark.long
    def test_every_accepted_edit_is_true():
        """By enumeration of all words; `KEYHOLE_MUTATIONS=10000` makes more of them."""
        rng = np.random.default_rng(7)
        texts = some_certificates()
        accepted = unplaced = 0
        for index in range(MUTATIONS):
            original = texts[index % len(texts)]
            text = mutated(original, rng)
            try:
                shown = check_text(text)
            except Refused as refusal:
                unplaced += not str(refusal).startswith("line ")
                continue
            if text != original and len(shown) == 1:
                accepted += 1
                with np.errstate(all="ignore"):
                    assert truth(text), text
        assert unplaced == 0
        assert accepted > MUTATIONS // 20
        sys.stdout.write(f"{accepted} of {MUTATIONS} edits were accepted\n")


BASE = of_plan(all_plans("x1 & ~x4", 5)[0])
OF_WORDS = certificate_of_words(
    replace(
        random_model(Plan(seed=2, tokens=4, norms=False)),
        readout=replace(random_model(Plan(seed=2, tokens=4, norms=False)).readout, bias=np.asarray(50.0)),
    ),
    (0, 1, 2, 3),
    at_least(4, 2, automaton=False)[:1],
)


class TestFalseCertificates:
    """False statements, written by hand, and the line at which each is refused."""

    @staticmethod
    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            (r"answers .*", "answers 010", "not above 0"),
            (r"answers .*", "answers 01", "answers are 3"),
            (r"class 1 1\n", "class 1 2\n", "one answer"),
            (r"class 2 2\nleaf\n(d .*\n)*slopes .*\n", "", "class"),
            (r"class 0 0", "class -1 0", "out of range"),
            (r"counted .*", "counted 01 01", "not above 0|was"),
            (r"counted .*", "counted 01 11", "counted and some are not"),
            (r"tensor readout.weight ", "tensor readout.weight nan ", "not an integer|names|numbers"),
            (r"(tensor readout.weight \S+ \S+) \S+", r"\1 nan", "not an integer"),
            (r"(tensor readout.weight \S+ \S+) \S+", r"\1 1_0", "not an integer"),
            (r"(tensor heads.0.scores) \S+", r"\1 99999999", "out of range"),
            (r"(tensor heads.0.cls_score) .*", r"\1 4000 1 1", "not above 0"),
            (r"margin (\d+):", r"margin 9\1:", "not shown"),
            (r"margin .*", "margin inf:0", "not an integer"),
            (r"margin .*\n", "", "margin"),
            (r"keyhole-certificate 1", "keyhole-certificate 2", "version"),
            (r"tolerance 0", "tolerance 1", "tolerance"),
            (r"arithmetic real", "arithmetic float32", "arithmetic"),
            (r"bits .*", "bits 8", "out of range"),
            (r"words 5 2", "words 6 2", ""),
            (r"rows 1 4 \*", "rows 1 4", "row"),
            (r"rows 1 4 \*", "rows 4 1 *", "increasing"),
            (r"claim counts 1 4", "claim counts 1 1", "different"),
            (r"claim counts 1 4", "claim counts 1 3", "row of its own"),
            (r"head table", "head cited line7", "not known"),
            (r"\nread (\S+)", r"\nread nothing", "no tensor"),
            (r"\Z", "step 1\n", "keyhole-certificate"),
        ],
    )
    def test_is_refused_with_its_line(old, new, why):
        """A wrong class, a missing one, a claim about other symbols, NaN, exponents that overflow, an unknown word."""
        text = re.sub(old, new, BASE, count=1)
        assert text != BASE
        with pytest.raises(Refused, match=rf"^line \d+: .*({why})"):
            check_text(text)

    @staticmethod
    def test_a_lucky_dual_is_still_a_bound():
        """Duals may be anything: a bound that is computed from them holds."""
        rng = np.random.default_rng(0)
        for _ in range(20):
            noise = str(rng.integers(-(2**62), 2**62))
            text = re.sub(r"^d \S+", f"d {noise}", OF_WORDS, count=1, flags=re.MULTILINE)
            try:
                check_text(text)
            except Refused:
                continue
            assert truth(text)

    @staticmethod
    def test_a_half_space_must_be_closed_on_both_sides():
        """A cut that cuts nothing changes nothing; one side alone, or a negative multiple, proves nothing."""
        ((_, check, _, _),) = check_text(OF_WORDS)
        head, _, rest = OF_WORDS.partition("leaf\n")
        leaf, _, margin = rest.partition("margin")
        zeros = " 0" * sum(table.width for table in check.tables)

        def cut(level, multiples, leaves):
            parts = [re.sub(r"^(d .*)$", rf"\1 {multiple}", leaf, flags=re.MULTILINE) for multiple in multiples]
            body = "".join(f"leaf\n{part}" for part in parts[:leaves])
            return f"{head}cut{zeros} {level}\n{body}margin{margin}"

        assert check_text(cut(0, (0, 0), 2))[0][0] == "PROVED"
        with pytest.raises(Refused, match="line"):
            check_text(cut(0, (0, 0), 1))
        with pytest.raises(Refused, match="negative"):
            check_text(cut(0, (0, -1), 2))
        false = cut(1 << 60, (1 << 70, 0), 2).replace("answers --111", "answers --000")  # ⟨0, o⟩ ≥ 1 has no word
        assert false != cut(1 << 60, (1 << 70, 0), 2)
        with pytest.raises(Refused, match="line"):
            check_text(false)

    @staticmethod
    @pytest.mark.parametrize("text", ["", "#", "\n", "keyhole-certificate", "keyhole-certificate 1", "\0", "leaf"])
    def test_no_certificate_at_all(text):
        """Nothing proves nothing."""
        with pytest.raises(Refused, match="line"):
            check_text(text)


class TestArithmetic:
    """The checker's own functions against balls of Arb."""

    @staticmethod
    @pytest.mark.slow
    @given(st.integers(64, 300), st.floats(-60, 0), st.floats(-14, 14))
    @settings(max_examples=FEW)
    def test_exponentials_roots_and_gelus_are_enclosed(bits, x, u):
        """And the radii are a few units."""
        from flint import arb, ctx

        arithmetic = Arithmetic(bits)
        at = arithmetic.read(*(u.as_integer_ratio()[0], 1 - u.as_integer_ratio()[1].bit_length()))[0]
        ratio = x.as_integer_ratio()
        start = arithmetic.read(ratio[0], 1 - ratio[1].bit_length())
        with ctx.workprec(bits + 400):
            unit = arb(2) ** -bits
            place = at * unit
            root = (2 / arb.pi()).sqrt()
            cases = [
                (arithmetic.exp(start), arb(x).exp()),
                (arithmetic.sqrt((-start[0], start[1])), arb(-x).sqrt()),
                (arithmetic.curve("gelu", at), place * (1 + (place / arb(2).sqrt()).erf()) / 2),
                (
                    arithmetic.curve("gelu_tanh", at),
                    place / (1 + (-2 * root * (place + arb("0.044715") * place**3)).exp()),
                ),
            ]
            for index, ((middle, radius), exact) in enumerate(cases):
                if index == 1 and x == 0:
                    continue
                assert abs(exact - middle * unit) <= radius * unit
                assert index == 1 or radius <= max(8 + 16 * abs(u), 2 ** max(bits - 79, 0))

    @staticmethod
    def test_lines_of_curved_units_are_on_their_side():
        """On a fine grid, for ranges inside, across and beyond the lattice."""
        check = object.__new__(keyhole_check.Check)
        check.a = Arithmetic(96)
        one = check.a.one
        for name, sigma in (("gelu", GELU()), ("gelu_tanh", TanhGELU())):
            check.name = name
            for low, high in ((-1.0, 2.0), (-15.0, 20.0), (-0.001, 0.002), (13.0, 14.0), (-14.0, -12.5)):
                x = np.linspace(low, high, 4001)
                for slope in (-0.3, 0.0, 0.5, 1.1):
                    for below in (True, False):
                        ends = (int(low * one), int(high * one))
                        _, offset = check.line(ends, int(slope * one), below=below)
                        off = (sigma(x) - slope * x - offset / one) * (1 if below else -1)
                        assert off.min() >= -1e-12
                        assert off.min() <= 1e-4


class TestNorms:
    """What replaces a norm is below it, at any row of the box and from any hint."""

    @staticmethod
    @pytest.mark.slow
    @settings(max_examples=FEW)
    @given(st.integers(0, 10**6), st.sampled_from(["centre", "rms"]))
    def test_tangents_boxes_and_quotients(seed, kind):
        """κ · spread is above its line; the spread is in the box; a bound over it is below the quotient."""
        rng, a, d = np.random.default_rng(seed), Arithmetic(96), 4

        def whole(numbers):
            return [round(float(number) * 2**40) << 56 for number in numbers]

        norm = Norm(a, (whole(rng.normal(size=d)), 0), ([0] * d, 0), (a.one >> 10, 0), kind)
        rows = [norm.centred((whole(rng.normal(size=d) * rng.choice([0.01, 1, 3])), 0))[0] for _ in range(6)]
        low, high = ([pick(row[i] for row in rows) for i in range(d)] for pick in (min, max))
        box = Box(norm, low, high)
        spreads = [norm.spread((row, 0))[0] for row in rows]
        hint, near = rows[0], max(1, int(spreads[0] * rng.choice([0.2, 1, 5])))  # not the row's own spread
        for spread, row in zip(spreads, rows, strict=True):
            assert box.least - 9 <= spread <= box.most + 9
            for value in (a.one, -a.one):
                assert box.under(value) * spread <= (value + 9) * a.one
            for kappa in (a.one * 3, -a.one * 2):
                scaled = Check.tangent(SimpleNamespace(a=a), norm, (kappa, 0), box, hint, near)
                line = a.dot(scaled[0], (row, 0))[0] + scaled[1][0]
                assert line * a.one <= kappa * spread + 100 * a.one


class TestSamples:
    """Bounds from a sample, by the exact tail."""

    @staticmethod
    @pytest.mark.slow
    @given(st.integers(1, 400), st.integers(0, 6), st.floats(1e-6, 0.5))
    @settings(max_examples=FEW)
    def test_the_provers_bound_is_accepted_and_a_smaller_one_is_not(draws, errors, delta):
        """It is the inversion of the tail: a thousandth less fails."""
        errors = min(errors, draws)
        model = to_tabulated(all_plans("x1 & ~x4")[0])
        junta = Junta((1, 4), 2, np.array([False, True, False, False]))
        bound = exact_error(certificate_nats(model.tokens, 2, delta, 2), draws, errors)
        text = certificate_of_junta(model, junta, sample=SampleBound(draws, errors, delta, bound))
        assert margin_of(text) > 0.9
        smaller = certificate_of_junta(model, junta, sample=SampleBound(draws, errors, delta, bound - 1e-3))
        with pytest.raises(Refused, match=r"line .*sample"):
            check_text(smaller)


class TestAlone:
    """The checker as a copy, without keyhole."""

    @staticmethod
    @pytest.mark.slow
    def test_it_runs_from_a_copy(tmp_path):
        """With -I and -S nothing but the standard library can be imported."""
        copy, file = tmp_path / "keyhole_check.py", tmp_path / "and.cert"
        copy.write_bytes(CHECKER.read_bytes())
        file.write_text(BASE)
        assert "keyhole" not in re.findall(r"^(?:import|from) (\w+)", copy.read_text(), re.MULTILINE)
        call = [sys.executable, "-I", "-S", str(copy), str(file)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout[:6]) == (0, "PROVED")
        file.write_text(BASE.replace("tolerance 0", "tolerance 1"))
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "REFUSED: line 7" in done.stdout
