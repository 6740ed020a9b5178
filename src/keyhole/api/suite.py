"""Suite: certified models with known relevant positions, for whoever wants to know whether an attribution is right."""

from pathlib import Path

from keyhole.compiler.compiled import assess_plan
from keyhole.compiler.constructions.plan import Plan
from keyhole.compiler.export.save import save_model
from keyhole.compiler.proof import Proof
from keyhole.suite.members import make_suite, write_suite


def suite(count: int, context: int, folder: Path, *, seed: int = 0) -> Path:
    """Make a suite, certify and write every model, then the answer key; return the key's path."""

    def write(plan: Plan, proof: Proof, path: Path) -> None:
        save_model(assess_plan(plan, proof, "one of a suite"), path)

    return write_suite(make_suite(count, context, seed), folder, write, seed)
