"""Do single heads find syntactic relations? Chosen on one part of a treebank, scored on the other."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from keyhole.apps.heads.head_annotation import RelationScore, heads_annotation
from keyhole.apps.ledger.checkpoints.sources import TREEBANK, named, where_present
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.verdict import verdict_of
from keyhole.papers import CLARK_2019

CLAIM = Claim(
    id="heads-against-syntax",
    title="Single heads find determiners, objects and possessors better than any fixed offset",
    statement=(
        "Some heads of a language encoder point from a word to its syntactic head. A head and a direction chosen on one treebank agree with another better than "
        "the best fixed offset, and than the best head of the same model with shuffled and with random weights, all chosen alike."
    ),
    formula=r"\hat p_{\mathrm{head}}-\max(\hat p_{\mathrm{offset}},\hat p_{\mathrm{shuffled}},\hat p_{\mathrm{random}},\hat p_{\mathrm{chance}})>0",
    kind="replication",
    source="the protocol follows Clark et al. (2019), who chose and scored on one set; head, offset and controls are chosen on one part here and scored on the other",
    prediction=(
        "MiniLM-L6 on UD English-EWT: for each of det, obj and nmod:poss the interval of the head's share minus each rival's is above 0, 95 % for all relations together."
    ),
    could_fail="One of the three relations whose head is not above a rival.",
    papers=(CLARK_2019,),
)

RELATIONS = ("det", "obj", "nmod:poss")
SENTENCES = 600  # of each part, at the quick scale
PUBLISHED = (
    "Not tested here (other model, treebank and annotation): the figures of Clark et al. for BERT-base on the Wall Street Journal, dobj 86.8 % (8-10), det 94.3 % (8-11), "
    "poss 80.5 % (7-6); for auxpass talks quote 82.5 % (4-6), where the authors' released notebook has 94.1 % (4-10), and 82.5 % for its best fixed offset."
)


@partial(Experiment, CLAIM)
@where_present
def experiment(scale: Scale, seed: int) -> Outcome:
    """Every relation's best head, beside its rivals."""
    sentences = SENTENCES if scale == "quick" else None
    parts = [TREEBANK[name].find() for name in ("dev", "test")]
    with TemporaryDirectory() as folder:
        used = [_beginning(part, sentences, Path(folder)) for part in parts]
        answer = heads_annotation("minilm", chosen_on=used[0], scored_on=used[1], seed=seed)
    asked = {each.relation: each for each in answer.relations if each.relation in RELATIONS}
    good = len(asked) == len(RELATIONS) and all(each.verdict == "above" for each in asked.values())
    bad = any(each.verdict == "below" for each in asked.values())
    return Outcome(
        verdict_of(holds=good, fails=bad),
        f"{named(parts)}, {answer.chosen_on} and {answer.scored_on}. {'; '.join(_told(each) for each in asked.values())}.",
        {
            **{f"{name}: head": each.best.scored.value for name, each in asked.items()},
            **{f"{name}: offset": each.offset_scored or 0.0 for name, each in asked.items()},
            **{
                f"{name}: {rival}": each.controls[rival].scored.value
                for name, each in asked.items()
                for rival in each.controls
            },
            "relations above all rivals": float(sum(each.verdict == "above" for each in answer.relations)),
            "relations": float(len(answer.relations)),
        },
        f"Quantiles of resampled sentences, 95 % for all {len(answer.relations)} ranked relations together.",
        (answer.figure(),),
        caveats=(
            "UD's relations are not those of Stanford Dependencies, so shares compare in kind and not digit by digit. A head that agrees is described by it, and not explained.",
            PUBLISHED,
        ),
    )


def _told(each: RelationScore) -> str:
    best, over = each.best, min(each.over.values(), key=lambda estimate: estimate.low)
    controls = ", ".join(f"{name} {control.scored.value:.1%}" for name, control in each.controls.items())
    return (
        f"{each.relation}: head {best.layer + 1}-{best.head + 1} ({best.direction}) {best.chosen:.1%} where it was chosen, {best.scored.value:.1%} ({best.scored.low:.1%} to {best.scored.high:.1%}) where it is scored; "
        f"offset {each.offset:+d} {each.offset_scored:.1%}; {controls}; over the nearest rival by at least {over.low:.1%}"
    )


def _beginning(path: Path, sentences: int | None, folder: Path) -> Path:
    """The first sentences of a treebank as a file of its own, or the whole."""
    if sentences is None:
        return path
    blocks = [block for block in path.read_text("utf8").replace("\r\n", "\n").split("\n\n") if block.strip()]
    cut = folder / path.name
    cut.write_text("\n\n".join(blocks[:sentences]) + "\n\n", encoding="utf8")
    return cut
