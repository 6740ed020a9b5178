"""Verdicts about published adders, as a table: `python examples/prove_adders.py FOLDER` with their checkpoints.

A row is added by one more checkpoint in the folder; a family of another make needs a description beside it, named with
--architecture. Seconds are of the processor, on one core.
"""

import argparse
import re
from pathlib import Path
from time import process_time

from keyhole import StepProof, prove_steps
from keyhole.decimals import at_least, brief

HERE = Path(__file__).parent
HEAD = """\
| model | verdict | margin proved | least margin met | share | classes | seconds | in float32 |
|---|---|---|---|---|---|---|---|"""


def row(path: Path, architecture: Path, claim: str) -> tuple[str, StepProof]:
    """Return the row of one checkpoint, and its proof."""
    start = process_time()
    proof = prove_steps(path, claim, architecture=architecture)
    seconds = process_time() - start
    if proof.margin is None:
        met, share = "–", "–"
        verdict = proof.text().splitlines()[0].removesuffix(" words")
    else:
        met, share = at_least(proof.margin, 4), f"{proof.margin / proof.attained:.1%}"
        verdict = "PROVED"
    cells = (path.stem, verdict, met, brief(proof.attained), share, f"{sum(s.classes for s in proof.steps):,}")
    return f"| {' | '.join((*cells, f'{seconds:.1f}', proof.float32))} |", proof


def main() -> None:
    """Prove every checkpoint of a folder, smallest number first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architecture", type=Path, default=HERE / "micro_adder.py")
    parser.add_argument("--claim", default="addition:10")
    asked = parser.parse_args()
    print(HEAD)
    wrong = []
    for path in sorted(asked.folder.glob("*.pt"), key=lambda path: int("0" + "".join(re.findall(r"\d+", path.stem)))):
        line, proof = row(path, asked.architecture, asked.claim)
        print(line, flush=True)
        wrong += [(path.stem, word) for word in proof.wrong]
    for name, word in wrong:
        print(f"\n{name} on {word.prompt}: writes {word.written}, right is {word.right}")


if __name__ == "__main__":
    main()
