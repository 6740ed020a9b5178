"""The words of verdicts stand in one module."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from keyhole import verdicts

HOME = Path(verdicts.__file__)
VOCABULARIES = ("ClaimVerdict", "CertificateStatus", "FormatOutcome", "LawStatus", "StepStatus", "ThresholdVerdict")
WORDS = {word for name in VOCABULARIES for word in get_args(getattr(verdicts, name))}


def words_of_literal_types(path):
    """The words of all literal types that a file writes out."""
    return {
        each.value
        for node in ast.walk(ast.parse(path.read_text("utf8")))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"Literal", "typing.Literal"}
        for each in ast.walk(node.slice)
        if isinstance(each, ast.Constant)
    }


@pytest.mark.slow
def test_no_other_file_defines_words_of_verdicts():
    """A literal type with one of these words is written in `keyhole/verdicts.py`, and nowhere else."""
    assert words_of_literal_types(HOME) == WORDS
    assert [path for path in HOME.parent.rglob("*.py") if words_of_literal_types(path) & WORDS] == [HOME]


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_word_is_explained(name):
    """What a vocabulary answers, and what each of its words means, stands beside it."""
    text = HOME.read_text("utf8")
    vocabulary = text[text.index(f"\n{name} = Literal[  # ") :].partition("\n]")[0]
    assert all(f'"{word}",  # ' in vocabulary for word in get_args(getattr(verdicts, name)))
