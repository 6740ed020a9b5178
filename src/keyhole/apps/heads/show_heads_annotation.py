"""Heads against annotation as a document: the protocol, a row per relation, what was too rare and what not tested."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Column, Document, Facts, Gap, Grid, Heading, Lines

Record = Mapping[str, Any]
PUBLISHED = (
    "Not tested here (other model, other treebank and annotation, the same protocol): for BERT-base on the Wall Street "
    "Journal, Clark et al. (2019) report dobj 86.8 % (head 8-10), det 94.3 % (8-11), poss 80.5 % (7-6). For auxpass "
    "82.5 % (4-6) is quoted in talks; the authors' released notebook has 94.1 % (4-10), and 82.5 % for its best fixed "
    "offset. A directory with BERT-base's weights can be given to this command."
)


def heads_annotation_document(record: Record) -> Document:
    """What the record says."""
    left = record["left_out"]
    directions = ", ".join(f"{name} ({what})" for name, what in record["directions"].items())
    intervals = (
        f"{record['resamples']} resamples of the inputs that have the relation; {100 * (1 - record['level']):g} % for "
        f"all {len(record['relations'])} relations together (Bonferroni), of maps that were chosen elsewhere"
    )
    facts = [
        ("model", f"{record['source']} ({record['architecture']})"),
        ("chosen on", f"{record['chosen_on']} ({left[0]} left out)"),
        ("scored on", f"{record['scored_on']} ({left[1]} left out)"),
        ("counting", record["counting"]),
        ("maps", f"{record['maps']}: of every head {directions}"),
        ("words", record["pooling"]),
        ("intervals", intervals),
        *((name, what) for name, what in record["controls"].items()),
    ]
    ordered = any(each["offset"] is not None for each in record["relations"])
    columns = (
        Column("relation"),
        Column("pairs", "right"),
        Column("head", at_least=9),
        Column("dev", "right"),
        Column("test", "right"),
        Column("interval", at_least=9),
        Column("offset", at_least=8) if ordered else Column("chance", "right"),
        Column("nulls", at_least=9),
        Column("head is", at_least=7, tones={"above": "good", "below": "bad"}),
    )
    rows = [
        (
            each["relation"],
            str(each["scored_pairs"]),
            f"{each['best']['layer'] + 1}-{each['best']['head'] + 1} {each['best']['direction']}",
            _percent(each["best"]["chosen"]),
            _percent(each["best"]["scored"]["value"]),
            f"{_percent(each['best']['scored']['low'])}–{_percent(each['best']['scored']['high'])}",
            f"{each['offset']:+d}: {_percent(each['offset_scored'])}" if ordered else _percent(each["chance"]),
            "/".join(_percent(each["controls"][name]["scored"]["value"]) for name in record["controls"]),
            each["verdict"],
        )
        for each in record["relations"]
    ]
    rivals = "the best offset, both controls and chance" if ordered else "both controls and chance"
    note = (
        "In percent of pairs. dev: the share where maps and offset were chosen; all else is of the other part. "
        f"nulls: the best maps of {' and '.join(record['controls'])} weights. The head is above where the interval of "
        f"its difference is above 0 for each of {rivals}, below where it is below 0 for one, else open. Ends of "
        "intervals are quantiles of resamples."
    )
    rare = ", ".join(f"{name} ({pairs[0]} and {pairs[1]})" for name, pairs in record["rare"].items())
    return (
        Facts(facts),
        Gap(),
        Heading("the best map of each relation"),
        Grid(columns, rows),
        Lines(note),
        *((Lines(f"Not ranked, under {record['least_pairs']} pairs in a part: {rare}."),) if rare else ()),
        *((Lines(PUBLISHED),) if ordered else ()),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
