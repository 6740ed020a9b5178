"""Heads as estimators, as a document: the rule, counts beside the controls, a row per head."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Column, Document, Facts, Gap, Grid, Heading, Lines

Record = Mapping[str, Any]
SHORT = {
    "mean of the values": "mean",
    "softmax": "softmax",
    "conditional mean, exponential kernel": "exp",
    "conditional mean, Gaussian kernel": "Gauss",
}


def head_estimator_document(record: Record) -> Document:
    """What the record says."""
    facts = [
        ("model", f"{record['source']} ({record['architecture']})"),
        ("data", f"{record['data']} ({record['left_out']} under {record['least_rows']} rows left out)"),
        ("queries", record["queries"]),
        ("counting", record["counting"]),
        ("rule", record["rule"]),
        *((name, what) for name, what in record["control_is"].items()),
    ]
    names = list(record["counts"]["trained"])
    counts = Grid(
        (Column("weights"), *(Column(SHORT.get(name, name), "right") for name in names)),
        [(kind, *(str(counted[name]) for name in names)) for kind, counted in record["counts"].items()],
    )
    columns = (
        Column("head"),
        Column("family", at_least=7),
        Column("says", "right"),
        Column("γ/own", "right"),
        *(Column(SHORT[name], "right") for name in record["families"]),
        Column("itself", "right"),
        Column("missed", "right"),
    )
    rows = [
        (
            f"{each['layer'] + 1}-{each['head'] + 1}",
            SHORT.get(each["family"], each["family"]),
            f"{each['informative']}/{each['inputs']}",
            "–" if each["bandwidth"] is None else f"{each['bandwidth']:.2g}",
            *(f"{each['unexplained'][name]:.2f}" for name in record["families"]),
            f"{each['own']:.2f}",
            f"{each['disagreement']:.2f}",
        )
        for each in record["heads"]
    ]
    note = (
        "says: inputs on which some fit beats the mean of the values. γ/own: the bandwidth chosen over the head's own "
        "temperature, the median. Then the share of the spread of held-out values that each family leaves, and the "
        "head itself at its own temperature. missed: the share of the head's outputs that a multiple of the best fit "
        "misses. exp, Gauss: conditional means with the exponential and the Gaussian kernel. Keys and values are "
        "images of the same rows, so that a flexible estimator may predict one from the other in any network: compare "
        "the controls. That a family fits describes rows, and explains nothing; of real data no exact posterior is "
        "known."
    )
    return (
        Facts(facts),
        Gap(),
        Heading("heads by family, as trained and in the controls"),
        counts,
        Gap(),
        Heading("head by head"),
        Grid(columns, rows),
        Lines(note),
    )
