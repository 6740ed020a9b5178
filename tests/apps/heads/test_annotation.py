"""Treebanks are read right, words are made of pieces as stated, and maps point where plain loops say."""

import numpy as np
import pytest

from keyhole.apps.heads.head_annotation import Example, agreement, read_conllu, resampled
from keyhole.apps.heads.head_statistics import word_maps
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.errors import DataError

from helpers import tiny_checkpoints as tiny
from helpers.plain_forward import run

TREEBANK = """# text = The cats can't sleep
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tcats\tcat\tNOUN\t_\t_\t5\tnsubj\t_\t_
3-4\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
3\tca\tcan\tAUX\t_\t_\t5\taux\t_\t_
4\tn't\tnot\tPART\t_\t_\t5\tadvmod\t_\t_
4.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
5\tsleep\tsleep\tVERB\t_\t_\t0\troot\t_\t_

1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_
"""


def test_reading(tmp_path):
    """Words with their heads from 0, roots as −1; ranges, empty nodes and remarks are left out."""
    (tmp_path / "a.conllu").write_text(TREEBANK)
    first, second = read_conllu(tmp_path / "a.conllu")
    assert first.words == ("The", "cats", "ca", "n't", "sleep")
    assert first.heads == (1, 4, 4, 4, -1)
    assert first.relations == ("det", "nsubj", "aux", "advmod", "root")
    assert second.heads == (1, -1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no sentence"),
        ("1 The the\n", "has no sentence"),
        ("1\tThe\tthe\n", "without a head"),
        (TREEBANK.replace("2\tbark", "3\tbark"), "Sentence 2"),
        (TREEBANK.replace("\t2\tnsubj", "\t7\tnsubj"), "head 7 and 2 words"),
    ],
)
def test_files_that_are_no_treebank(tmp_path, text, told):
    """What is no treebank is refused, with the sentence that is wrong."""
    (tmp_path / "a.conllu").write_text(text)
    with pytest.raises(DataError, match=told):
        read_conllu(tmp_path / "a.conllu")


def test_words_of_pieces():
    """To a word: the sum over its pieces; from it: their mean; rows of no word are dropped."""
    maps = np.arange(16.0).reshape(1, 4, 4)
    found = word_maps(maps, np.array([-1, 0, 1, 1]))
    assert found[0].tolist() == [[5.0, 6 + 7], [(9 + 13) / 2, (10 + 11 + 14 + 15) / 2]]


def test_agreement_by_hand():
    """Which maps point at each target, both ways, is what loops over each plain map say."""
    arrays, config = tiny.bert()
    model = prepare(load_checkpoint(arrays, config=config))
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, tiny.SYMBOLS, size=length) for length in (6, 9, 7)]
    words = [np.array([-1, *range(length - 3), length - 4, -1]) for length in (6, 9, 7)]  # the last word has two pieces
    targets = [rng.integers(0, each.max() + 1, size=each.max() + 1) for each in words]
    for each in targets:
        each[0] = -1
        each[1:] = np.where(each[1:] == np.arange(1, len(each)), 0, each[1:])

    def give(index):
        labels = tuple("even" if at % 2 == 0 else "odd" for at in range(len(targets[index])))
        return Example(model.embed(texts[index]), words[index], targets[index], labels)

    found = agreement(model, [len(text) for text in texts], give)
    pairs = 0
    for index, text in enumerate(texts):
        _, maps = run(model.checkpoint, text)
        mine = np.flatnonzero(found.inputs == index)
        for row, word in zip(mine, range(1, len(targets[index])), strict=True):
            pairs += 1
            assert found.labels[row] == ("even" if word % 2 == 0 else "odd")
            assert found.offsets[row] == targets[index][word] - word
            for layer, head in np.ndindex(2, tiny.HEADS):
                between = word_maps(maps[layer, head][None], words[index])[0]
                others = [at for at in range(len(between)) if at != word]
                to = max(others, key=lambda at: between[word, at])
                by = max(others, key=lambda at: between[at, word])
                column = (layer * tiny.HEADS + head) * 2
                assert found.correct[row, column : column + 2].tolist() == [
                    to == targets[index][word],
                    by == targets[index][word],
                ]
    assert pairs == len(found.inputs)


@pytest.mark.parametrize("copies", [1, 4])
def test_resamples_draw_inputs(copies):
    """The deviation of a share is √(p(1 − p)/n) with n inputs, however many like pairs each has."""
    p, n = 0.3, 400
    hits = np.repeat(np.arange(n) < p * n, copies).astype(float)[:, None]
    drawn = resampled(hits, np.repeat(np.arange(n) * 3, copies), 4000, 0)[:, 0]
    assert drawn.mean() == pytest.approx(p, abs=0.002)
    assert drawn.std() == pytest.approx(np.sqrt(p * (1 - p) / n), rel=0.06)  # five standard errors of a deviation
