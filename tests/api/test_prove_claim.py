"""Claims: every verdict about a checkpoint against its own logits on every word."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

import keyhole
from keyhole.api import length_verdict
from keyhole.errors import ArgumentError, AssumptionError, CheckpointError, FormulaError

from helpers.planted_juntas import all_sequences
from helpers.tiny_gpt2 import logits, write_gpt2

CLAIMS = {
    "majority": lambda w: 2 * sum(w) > len(w),
    "odd number of 1": lambda w: sum(w) % 2 == 1,
    "regex:0*1*": lambda w: list(w) == sorted(w),
    "x0 & x2": lambda w: bool(w[0] and w[2]),
    "maj(x0,x1,x2)": lambda w: sum(w[:3]) > 1,
}


def proof_of(model, claim, lengths=None, *, store, samples=50, time_limit=0.1, **words):
    """The proof of a claim, with little effort."""
    effort = keyhole.Effort(time_limit, samples)
    return keyhole.prove_claim(model, claim, lengths, words=keyhole.Words(**words), effort=effort, store=store)


def judged(tensors, frame, claim, length, rivals=((1, 0), (0, 1))):
    """The least margin of the right answer over all words, and whether each word is answered rightly."""
    margins = {}
    for word in all_sequences(length, 2):
        tokens = [*frame[0], *word.tolist(), *frame[1]]
        found = logits(tensors, tokens)
        right, *others = rivals[0] if CLAIMS[claim](word.tolist()) else rivals[1]
        margins[tuple(tokens)] = float(found[right] - max(found[other] for other in others))
    return margins


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("read", ["SEP", None])
def test_the_verdict_is_that_of_every_word(tmp_path, claim, read):
    """PROVED has a margin not above the least one; a wrong word is wrong by the model's own logits."""
    statuses = set()
    for seed in range(2):
        tensors = write_gpt2(tmp_path / "model", seed=seed, width=4)
        found = proof_of(tmp_path / "model", claim, [3], before=["BOS"], read_at=read, store=tmp_path / "store")
        for row in found.lengths:
            margins = judged(tensors, ([2], [] if read is None else [3]), claim, row.length)
            statuses.add(row.status)
            if row.status == "PROVED":
                assert 0 < row.margin <= min(margins.values())
            if row.status == "COUNTEREXAMPLE":
                assert margins[row.wrong_numbers] == pytest.approx(-abs(row.output), rel=1e-9)
                assert abs(row.output_as_computed) == pytest.approx(abs(row.output), rel=1e-3)
    assert "COUNTEREXAMPLE" in statuses


@pytest.mark.parametrize("claim", ["majority", "at least half of 1", "at least 1 of 1", "x0", "last is 1"])
def test_words_of_one_symbol_that_is_read_at_itself(tmp_path, claim):
    """With T = 1 and the answer read at the symbol nothing is left to choose: both words are judged as they are."""
    tensors = write_gpt2(tmp_path / "model", seed=0, width=4)
    (row,) = proof_of(tmp_path / "model", claim, [1], before=["BOS"], store=tmp_path / "store").lengths
    rows = {word: logits(tensors, [2, word]) for word in (0, 1)}
    right = all(found[word] > found[1 - word] for word, found in rows.items())
    assert row.status == ("PROVED" if right else "COUNTEREXAMPLE")


def test_a_claim_that_holds_is_proved(tmp_path):
    """A model whose unembedding prefers token 1 on every word is proved to answer "at least 0 of 1"."""
    write_gpt2(tmp_path / "model", seed=3, scale=0.05)
    words = ["at least 0 of 1", "at least 9 of 1"]
    found = [proof_of(tmp_path / "model", claim, [4], read_at="SEP", store=tmp_path / "store") for claim in words]
    assert {answer.lengths[0].status for answer in found} == {"PROVED", "COUNTEREXAMPLE"}
    assert [answer.lengths[0].sampled_wrong for answer in found].count(0) == 1


def test_a_float_error_that_ran_out_of_time_is_said(tmp_path, monkeypatch):
    """A margin is proved and the time for the float error is over: the row and the reason say so."""
    write_gpt2(tmp_path / "model", seed=3, scale=0.05)

    def never(*_, late, **__):
        while not late():
            pass
        return np.inf

    monkeypatch.setattr("keyhole.api.length_verdict.float_error", never)
    (row,) = proof_of(tmp_path / "model", "at least 0 of 1", [3], read_at="SEP", store=tmp_path).lengths
    assert (row.status, row.float_error, row.float_keeps) == ("PROVED", None, None)
    assert "float32 error not bounded" in row.known
    assert "was not bounded in 0.1 seconds" in row.reason


@pytest.mark.slow
def test_every_word_of_a_short_length_is_decided(tmp_path):
    """Random models, whose margins are of any size, leave no length of few words UNDECIDED."""
    for seed in range(6):
        write_gpt2(tmp_path / "model", seed=seed, width=4)
        found = proof_of(tmp_path / "model", "majority", [1, 2, 3, 4], read_at="SEP", store=tmp_path, time_limit=20.0)
        assert {row.status for row in found.lengths} <= {"PROVED", "COUNTEREXAMPLE"}


@pytest.mark.slow
def test_rivals_count(tmp_path):
    """With a rival the right answer must win against it too, so that margins only shrink."""
    for seed in range(3):
        tensors = write_gpt2(tmp_path / "model", seed=seed, width=4)
        found = proof_of(
            tmp_path / "model", "majority", [3], read_at="SEP", answers=["0", "1", "no"], store=tmp_path / "store"
        )
        margins = judged(tensors, ([], [3]), "majority", 3, ((1, 0, 4), (0, 1, 4)))
        row = found.lengths[0]
        wrong = sum(margin < 0 for margin in margins.values()) / len(margins)
        assert (row.sampled_wrong > 0) == (wrong > 0)
        if row.status == "PROVED":
            assert row.margin <= min(margins.values())
        if row.status == "COUNTEREXAMPLE":
            assert margins[row.wrong_numbers] < 0


def test_a_restricted_claim_speaks_of_its_words_alone(tmp_path):
    """A wrong word is one of the words asked about."""
    write_gpt2(tmp_path / "model", seed=0)
    found = proof_of(tmp_path / "model", "majority", [5], read_at="SEP", where="regex:0*1*", store=tmp_path / "store")
    word = found.lengths[0].wrong_numbers
    assert word is None or list(word[:-1]) == sorted(word[:-1])


def test_a_length_without_words_is_said_to_be_vacuous(tmp_path):
    """Words of (01)* have even lengths: an odd length is neither proved nor undecided, and draws no point."""
    write_gpt2(tmp_path / "model", seed=0, width=4)
    ask = {"read_at": "SEP", "where": "regex:(01)*", "store": tmp_path / "store"}
    found = proof_of(tmp_path / "model", "majority", [1, 2, 3], **ask)
    assert [row.status == "VACUOUS" for row in found.lengths] == [True, False, True]
    assert len(found.figure().rows) == 1
    nothing = proof_of(tmp_path / "model", "majority", [1, 3], **ask)
    with pytest.raises(AssumptionError, match="nothing to draw"):
        nothing.figure()


def test_a_sum_that_doubles_cannot_hold_is_said(tmp_path):
    """Logits whose difference is rounded are named in a note; plain weights have none."""
    for tiny, said in ((0.0, False), (1e-30, True)):
        tensors = write_gpt2(tmp_path / "model", seed=3, width=4, scale=0.05, tie_word_embeddings=False)
        out = tensors["wte.weight"].copy()
        out[:2] = [[0.5, 0, 0, 0], [tiny, 0.25, 0, 0]]
        named = {f"transformer.{name}": tensor for name, tensor in tensors.items()}
        save_file({**named, "lm_head.weight": out}, tmp_path / "model" / "model.safetensors")
        found = proof_of(tmp_path / "model", "majority", [2], read_at="SEP", store=tmp_path / "store")
        assert ("rounded" in found.lengths[0].reason) == said


def test_a_compiled_model_is_verified_without_its_proof(tmp_path):
    """Majority of 21 at 300 positions is proved by counts; another function is refuted by a word."""
    path = tmp_path / "maj.safetensors"
    compiled = keyhole.compile("majority:21", 300)
    compiled.save(path)
    function = compiled.record()["function"]
    right = proof_of(path, function, store=tmp_path / "store", time_limit=5.0)
    wrong = proof_of(path, "x0", store=tmp_path / "store", time_limit=5.0)
    assert (right.lengths[0].status, wrong.lengths[0].status) == ("PROVED", "COUNTEREXAMPLE")
    row = wrong.lengths[0]
    assert (row.output > 0) != row.wanted


@pytest.mark.parametrize("seconds", [0.01, 0.2])
def test_an_answer_cut_by_time_says_so_and_is_tried_again(seconds, tmp_path, monkeypatch):
    """Where the time limit of 0.1 s ended the search, the line says so and the same question searches once more."""
    write_gpt2(tmp_path / "model", seed=0, width=4)
    search, made = length_verdict.prove_on_words, []

    def undecided(*words, **options):
        made.append(replace(search(*words, **options), status="UNDECIDED", counterexample=None, seconds=seconds))
        return made[-1]

    monkeypatch.setattr(length_verdict, "prove_on_words", undecided)
    first, second = (
        proof_of(tmp_path / "model", "majority", [6], read_at="SEP", store=tmp_path / "store") for _ in range(2)
    )
    assert ("0.1 s used up" in str(first)) == (seconds > 0.1)
    assert len(made) == (2 if seconds > 0.1 else 1)
    assert second.lengths[0].status == "UNDECIDED"


def test_a_second_call_reads_the_first_one(tmp_path, monkeypatch):
    """Verdicts are kept by the weights and the question: the same question is not searched again, another one is."""
    write_gpt2(tmp_path / "model", seed=0, width=4)
    ask = {"read_at": "SEP", "store": tmp_path / "store"}
    first = proof_of(tmp_path / "model", "majority", [3, 4], **ask)
    monkeypatch.setattr("keyhole.api.length_verdict.prove_on_words", lambda *_, **__: pytest.fail("searched again"))
    assert proof_of(tmp_path / "model", "majority", [3, 4], **ask).lengths == first.lengths
    with pytest.raises(pytest.fail.Exception):
        proof_of(tmp_path / "model", "majority of 0", [3], **ask)
    write_gpt2(tmp_path / "model", seed=1, width=4)
    with pytest.raises(pytest.fail.Exception):
        proof_of(tmp_path / "model", "majority", [3], **ask)


@pytest.mark.parametrize(
    ("claim", "more", "error", "says"),
    [
        ("majority of 2", {}, FormulaError, "not in the alphabet"),
        ("perhaps", {}, FormulaError, "neither a formula"),
        ("x9 & x2", {}, FormulaError, "context"),
        ("majority", {"read_at": "END"}, ArgumentError, "no token named 'END'"),
        ("majority", {"lengths": [40]}, AssumptionError, "places"),
        ("majority", {"lengths": []}, ArgumentError, "lengths"),
        ("majority", {"alphabet": ["1"]}, ArgumentError, "two or more"),
        ("majority", {"answers": ["1", "1"]}, ArgumentError, "different answers"),
        ("majority", {"answers": ["0|SEP", "1|SEP"]}, ArgumentError, "share a token"),
        ("majority", {"answers": ["0|0", "1"]}, ArgumentError, "names a token twice"),
        ("majority", {"read_at": "BOS", "before": ["BOS"]}, AssumptionError, "causal"),
        ("majority", {"samples": -1}, ArgumentError, "random words"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, claim, more, error, says):
    """A claim beside the alphabet, a token that is not there, a word too long, a query that depends on the input."""
    write_gpt2(tmp_path / "model")
    ask = {"lengths": [4], "store": tmp_path / "store", **more}
    with pytest.raises(error, match=says):
        proof_of(tmp_path / "model", claim, **ask)


@pytest.mark.slow
def test_answers_of_several_tokens_are_judged_by_the_mean_of_their_logits(tmp_path):
    """The verdict on "0|no" against "1|BOS" is that of every word with the means; no float error is promised."""
    statuses = set()
    for seed in range(4):
        tensors = write_gpt2(tmp_path / "model", seed=seed, width=4)
        least = []
        for word in all_sequences(4, 2):
            found = logits(tensors, [*word.tolist(), 3])
            difference = found[[1, 2]].mean() - found[[0, 4]].mean()
            least.append(difference if 2 * word.sum() > 4 else -difference)
        ask = {"read_at": "SEP", "answers": ["0|no", "1|BOS"], "store": tmp_path / "store"}
        verified = proof_of(tmp_path / "model", "majority", [4], **ask)
        (row,) = verified.lengths
        statuses.add(row.status)
        assert row.status != ("PROVED" if min(least) <= 0 else "COUNTEREXAMPLE")
        if row.status == "COUNTEREXAMPLE":
            word = tuple(row.wrong_numbers[:-1])
            at = [tuple(each.tolist()) for each in all_sequences(4, 2)].index(word)
            assert least[at] == pytest.approx(-abs(row.output), rel=1e-9)
        assert row.float_error is None
    assert "COUNTEREXAMPLE" in statuses


def test_two_layers_and_a_missing_map_are_refused(tmp_path):
    """After one layer tokens depend on each other; units that are not bounded are not verified."""
    write_gpt2(tmp_path / "two", layers=2)
    with pytest.raises(AssumptionError, match="2 layers"):
        proof_of(tmp_path / "two", "majority", [4], store=tmp_path)
    write_gpt2(tmp_path / "silu", activation_function="silu")
    with pytest.raises(AssumptionError, match="silu"):
        proof_of(tmp_path / "silu", "majority", [4], store=tmp_path)
    with pytest.raises(CheckpointError):
        proof_of(tmp_path / "nowhere", "majority", [4], store=tmp_path)


def test_the_record_and_the_figure(tmp_path):
    """The record is plain JSON with a row for each length, and the figure has a point for each."""
    write_gpt2(tmp_path / "model", seed=0)
    found = proof_of(tmp_path / "model", "majority", [3, 4, 5], read_at="SEP", store=tmp_path / "store")
    record = json.loads(found.to_json())
    assert [row["length"] for row in record["lengths"]] == [3, 4, 5]
    assert record["schema"] == "prove-claim/1"
    assert len(found.figure().rows) == 3
    assert np.isfinite([row["margin"] for row in found.figure().rows]).all()
