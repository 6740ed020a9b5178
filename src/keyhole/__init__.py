"""keyhole: what self-attention can represent, infer and learn, and how much data that takes.

The package's own names are its public functions, the types of their results, and its packages. Each is loaded when it
is first used, so that `import keyhole` costs nothing; a type checker sees them all.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyhole import api as api
    from keyhole import attention as attention
    from keyhole import boolean as boolean
    from keyhole import bounds as bounds
    from keyhole import certifier as certifier
    from keyhole import claims as claims
    from keyhole import compiler as compiler
    from keyhole import decimals as decimals
    from keyhole import errors as errors
    from keyhole import estimate as estimate
    from keyhole import figure as figure
    from keyhole import files as files
    from keyhole import kernels as kernels
    from keyhole import lab as lab
    from keyhole import languages as languages
    from keyhole import latent as latent
    from keyhole import papers as papers
    from keyhole import pretrained as pretrained
    from keyhole import pretraining as pretraining
    from keyhole import profile as profile
    from keyhole import progress as progress
    from keyhole import rigorous as rigorous
    from keyhole import serve as serve
    from keyhole import show as show
    from keyhole import suite as suite
    from keyhole import verdicts as verdicts
    from keyhole.api.bound import Bound as Bound
    from keyhole.api.bound import bound as bound
    from keyhole.api.bound_runs import RunBounds as RunBounds
    from keyhole.api.bound_runs import bound_runs as bound_runs
    from keyhole.api.certify import Certified as Certified
    from keyhole.api.certify import certify as certify
    from keyhole.api.check import Checked as Checked
    from keyhole.api.check import check as check
    from keyhole.api.checkpoint_norms import CheckpointNorms as CheckpointNorms
    from keyhole.api.checkpoint_norms import checkpoint_norms as checkpoint_norms
    from keyhole.api.compare_runs import RunComparison as RunComparison
    from keyhole.api.compare_runs import compare_runs as compare_runs
    from keyhole.api.compile import Compiled as Compiled
    from keyhole.api.compile import compile as compile  # noqa: A004  (the name of the question)
    from keyhole.api.curve import Curve as Curve
    from keyhole.api.curve import curve as curve
    from keyhole.api.describe import Description as Description
    from keyhole.api.describe import describe as describe
    from keyhole.api.engine import engine as engine
    from keyhole.api.exchangeable import Exchangeability as Exchangeability
    from keyhole.api.exchangeable import exchangeable as exchangeable
    from keyhole.api.fit import Fit as Fit
    from keyhole.api.fit import fit as fit
    from keyhole.api.follow import Followed as Followed
    from keyhole.api.follow import follow as follow
    from keyhole.api.heads import Heads as Heads
    from keyhole.api.heads import heads as heads
    from keyhole.api.infer import Inference as Inference
    from keyhole.api.infer import infer as infer
    from keyhole.api.learn import learn as learn
    from keyhole.api.model_order import ModelOrder as ModelOrder
    from keyhole.api.model_order import model_order as model_order
    from keyhole.api.norms import Norms as Norms
    from keyhole.api.norms import norms as norms
    from keyhole.api.plans import PlanResult as PlanResult
    from keyhole.api.plans import run_plan as run_plan
    from keyhole.api.pretrain import pretrain as pretrain
    from keyhole.api.pretraining import Pretraining as Pretraining
    from keyhole.api.respond import Response as Response
    from keyhole.api.respond import respond as respond
    from keyhole.api.runs import RunInFull as RunInFull
    from keyhole.api.runs import Runs as Runs
    from keyhole.api.runs import forget_runs as forget_runs
    from keyhole.api.runs import runs as runs
    from keyhole.api.runs import show_run as show_run
    from keyhole.api.sample_complexity import SampleComplexity as SampleComplexity
    from keyhole.api.score import Scores as Scores
    from keyhole.api.score import score as score
    from keyhole.api.stored_sweeps import StoredSweeps as StoredSweeps
    from keyhole.api.stored_sweeps import stored_sweeps as stored_sweeps
    from keyhole.api.suite import Suite as Suite
    from keyhole.api.suite import make_suite as make_suite
    from keyhole.api.train import Trained as Trained
    from keyhole.api.train import train as train
    from keyhole.api.verify import Verified as Verified
    from keyhole.api.verify import verify as verify
    from keyhole.claims.reproduction import Claims as Claims
    from keyhole.claims.reproduction import Findings as Findings
    from keyhole.claims.reproduction import list_claims as list_claims
    from keyhole.claims.reproduction import reproduce as reproduce
    from keyhole.errors import KeyholeError as KeyholeError

__version__ = "0.1.0"

_HOMES = {  # public name → the module that has it
    "Bound": "api.bound",
    "Certified": "api.certify",
    "Checked": "api.check",
    "CheckpointNorms": "api.checkpoint_norms",
    "Claims": "claims.reproduction",
    "Compiled": "api.compile",
    "Curve": "api.curve",
    "Description": "api.describe",
    "Exchangeability": "api.exchangeable",
    "Findings": "claims.reproduction",
    "Fit": "api.fit",
    "Followed": "api.follow",
    "Heads": "api.heads",
    "Inference": "api.infer",
    "KeyholeError": "errors",
    "ModelOrder": "api.model_order",
    "Norms": "api.norms",
    "PlanResult": "api.plans",
    "Pretraining": "api.pretraining",
    "Response": "api.respond",
    "RunBounds": "api.bound_runs",
    "RunComparison": "api.compare_runs",
    "RunInFull": "api.runs",
    "Runs": "api.runs",
    "SampleComplexity": "api.sample_complexity",
    "Scores": "api.score",
    "StoredSweeps": "api.stored_sweeps",
    "Suite": "api.suite",
    "Trained": "api.train",
    "Verified": "api.verify",
    "bound": "api.bound",
    "bound_runs": "api.bound_runs",
    "certify": "api.certify",
    "check": "api.check",
    "checkpoint_norms": "api.checkpoint_norms",
    "compare_runs": "api.compare_runs",
    "compile": "api.compile",
    "curve": "api.curve",
    "describe": "api.describe",
    "engine": "api.engine",
    "exchangeable": "api.exchangeable",
    "fit": "api.fit",
    "follow": "api.follow",
    "forget_runs": "api.runs",
    "heads": "api.heads",
    "infer": "api.infer",
    "learn": "api.learn",
    "list_claims": "claims.reproduction",
    "make_suite": "api.suite",
    "model_order": "api.model_order",
    "norms": "api.norms",
    "pretrain": "api.pretrain",
    "reproduce": "claims.reproduction",
    "run_plan": "api.plans",
    "respond": "api.respond",
    "runs": "api.runs",
    "score": "api.score",
    "show_run": "api.runs",
    "stored_sweeps": "api.stored_sweeps",
    "train": "api.train",
    "verify": "api.verify",
}
_PACKAGES = (
    "api",
    "attention",
    "boolean",
    "bounds",
    "certifier",
    "claims",
    "compiler",
    "decimals",
    "errors",
    "estimate",
    "figure",
    "files",
    "kernels",
    "lab",
    "languages",
    "latent",
    "papers",
    "pretrained",
    "pretraining",
    "profile",
    "progress",
    "rigorous",
    "serve",
    "show",
    "suite",
    "verdicts",
)

__all__ = ["__version__", *_HOMES, *_PACKAGES]  # noqa: PLE0604  (they are strings too)


def __getattr__(name: str) -> object:
    """Load a public name or a package the first time it is used."""
    if name in _HOMES:
        return getattr(import_module(f"keyhole.{_HOMES[name]}"), name)
    if name in _PACKAGES:
        return import_module(f"keyhole.{name}")
    functions = ", ".join(each for each in _HOMES if each.islower())
    raise AttributeError(f"module 'keyhole' has no attribute {name!r}; its functions are {functions}")


def __dir__() -> list[str]:
    """The public names and packages."""
    return sorted(__all__)
