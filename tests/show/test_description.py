"""How a description is shown: facts in words, and the largest of long lists."""

import keyhole
from keyhole.show.description import MANY, description_document, facts
from keyhole.show.document import Bars


def test_long_lists_show_their_largest_in_order():
    """The twelve largest weights, by degree, said to be so and without naming an option."""
    description = keyhole.describe("majority:101")
    weights, influences = (part for part in description_document(description.record()) if isinstance(part, Bars))
    assert weights.remark == "(the 12 largest of 51; the record has all)"
    kept = sorted(range(102), key=lambda k: -description.fourier_weight[k])[:MANY]
    assert [int(degree) for degree, _, _ in weights.rows] == sorted(kept)
    assert max(share for _, _, share in weights.rows) == 1
    assert len(influences.rows) == MANY


def test_a_constant_has_one_weight_and_no_influence():
    """No positions: one bar, and words for the rest."""
    record = keyhole.describe("1").record()
    assert [len(part.rows) for part in description_document(record) if isinstance(part, Bars)] == [1]
    assert ("positions", "none: the function is constant") in facts(record)


def test_shapes_in_words():
    """Yes, no, or once some bits are negated; levels name what they count, tables their order."""
    words = {formula: dict(facts(keyhole.describe(formula).record())) for formula in ("maj(x1,x2,x3)", "x1 & ~x2")}
    assert [found["symmetric"] for found in words.values()] == ["yes", "once some bits are negated"]
    assert words["x1 & ~x2"]["levels"] == "001: the answers where 0 to 2 of x1, ~x2 are true, in this order"
    assert dict(facts(keyhole.describe("x0 & x1 | ~x0 & x2").record()))["symmetric"] == "no"
    assert "information floor" not in words["x1 & ~x2"]
