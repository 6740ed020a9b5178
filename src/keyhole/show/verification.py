"""A claim verified length by length as a document: the summary, a row for each length, the shortest wrong word."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_least, at_most, margin
from keyhole.show.document import Column, Document, Facts, Gap, Grid, Heading, Lines, Tone

Record = Mapping[str, Any]

VERDICTS = {"PROVED": "PROVED", "COUNTEREXAMPLE": "WRONG INPUT", "UNDECIDED": "UNDECIDED", "VACUOUS": "no words"}
TONES: Mapping[str, Tone] = {"PROVED": "good", "WRONG INPUT": "bad", "UNDECIDED": "mild", "no words": "mild"}
WRONG = "WRONG INPUT: a word on which the model answers wrongly was found, and is shown. "
NOTE = (
    "A word is an input of length T. margin: the least amount, over all words of the length, by which the right answer "
    "wins: the difference of the two logits, or the distance of a single output from 0. Random words: half have "
    "uniform symbols; for each of the others the probabilities of the symbols are drawn first, at random."
)
LETTERS = 32  # of a word shown in a row


def verification_document(record: Record) -> Document:
    """The question, the summary, a table over lengths, the shortest wrong word with the lines that show it."""
    facts = [
        ("model", record["source"]),
        ("claim", record["claim"] + ("" if record["where"] is None else f", of words with {record['where']}")),
        ("input", record["shown_as"]),
        ("answer", record["answers"]),
        ("result", record["summary"]),
        *([] if record["compared"] is None else [("reading", record["compared"])]),
    ]
    columns = (
        Column("T", "right"),
        Column("verdict", tones=TONES),
        Column("margin, or a wrong word"),
        Column("random words wrong", "right"),
        Column("seconds", "right"),
    )
    rows = [
        (
            f"{row['length']}",
            VERDICTS[row["status"]],
            _margin_or_word(row),
            f"{row['sampled_wrong']:,} of {row['sampled']:,}" if row["sampled"] else "",
            f"{row['seconds']:.1f}",
        )
        for row in record["lengths"]
    ]
    wrong = next((row for row in record["lengths"] if row["status"] == "COUNTEREXAMPLE"), None)
    notes: list[tuple[str, str]] = [
        (f"T = {row['length']}", row["reason"]) for row in record["lengths"] if row["reason"]
    ]
    assumed = [("assumed" if not index else "", line) for index, line in enumerate(record["assumed"])]
    return (
        Facts(facts),
        Gap(),
        Grid(columns, rows),
        Lines(NOTE if wrong is None else WRONG + NOTE),
        *([] if wrong is None else _wrong(record, wrong)),
        *((Gap(), Facts(notes)) if notes else ()),
        Gap(),
        Facts(assumed),
    )


def _margin_or_word(row: Record) -> str:
    if row["status"] == "PROVED":
        return f"margin {margin(row['margin'])}{_as_it_runs(row)}"
    if row["status"] == "COUNTEREXAMPLE":
        return _cut(_join_tokens(row["wrong_tokens"]))
    return "" if row["bound"] is None else f"not below {at_least(row['bound'])}"


def _as_it_runs(row: Record) -> str:
    """Whether a pass in the model's own format keeps the sign, by its error bound."""
    if row["float_format"] is None:
        return ""
    return f", {row['float_format']} " + (f"error ≤ {at_most(row['float_error'], 2)}" if row["float_keeps"] else "open")


def _join_tokens(tokens: list[str]) -> str:
    """Tokens one after another: with blanks only where a name has more than one letter."""
    return "".join(tokens) if all(len(token) == 1 for token in tokens) else " ".join(tokens)


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def _wrong(record: Record, row: Record) -> Document:
    """The shortest wrong word in full, and how to show it."""
    right = "true" if row["wanted"] else "false"
    by = f"{abs(row['output']):.4g}"
    computed = row["output_as_computed"]
    wins = f"the answer should be {right}, and the other one wins by {by}"
    if record["loader"] is None:
        wins = f"the answer should be {right}, and the output of the model is {row['output']:.4g}"
    if row["wanted"] is None:
        wins = f"a wrong answer wins by {by}"
    lines: list[Any] = [
        Gap(),
        Heading("the shortest wrong word of the lengths tried"),
        Lines(_join_tokens(row["wrong_tokens"])),
        Lines(f"On this word of length {row['length']} {wins}."),
    ]
    if computed is not None and record["loader"] is not None:
        lines += [
            Lines(f"A plain forward pass in the format of the weights prefers it by {abs(computed):.4g}."),
            Gap(),
            Heading("to see it in transformers"),
            Lines(python_lines(record, row["wrong_numbers"])),
        ]
    return tuple(lines)


def python_lines(record: Record, numbers: list[int]) -> str:
    """The few lines of Python that show the logits where the answer is read."""
    place = 0 if record["read_first"] else -1
    return "\n".join(
        (
            "import torch, transformers",
            f"model = transformers.{record['loader']}.from_pretrained({record['source']!r})",
            f"print(model(torch.tensor([{list(numbers)}])).logits[0, {place}])",
        )
    )
