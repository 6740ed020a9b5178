"""keyhole: what self-attention can represent, infer and learn, and how much data that takes.

The package's own names are its verbs, each loaded when first used, so that `import keyhole` costs nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

FUNCTIONS = {  # name → module
    **{
        name: f"keyhole.api.{name}"
        for name in (
            "bound",
            "certify",
            "check",
            "compile",
            "describe",
            "exchangeable",
            "infer",
            "learn",
            "runs",
            "score",
        )
    },
    "forget_runs": "keyhole.api.runs",
    "list_claims": "keyhole.claims.findings",
    "make_suite": "keyhole.api.suite",
    "reproduce": "keyhole.claims.findings",
    "show_run": "keyhole.api.runs",
}
VERBS = tuple(FUNCTIONS)

__all__ = [*VERBS, "__version__"]  # noqa: PLE0604  (the verbs are strings too)


def __getattr__(name: str) -> object:
    """Load a verb, or a room, the first time it is named."""
    if name in VERBS:
        return getattr(import_module(FUNCTIONS[name]), name)
    raise AttributeError(f"module 'keyhole' has no attribute {name!r}; its verbs are {', '.join(VERBS)}")


def __dir__() -> list[str]:
    """The verbs and the version: what a person can ask."""
    return sorted(__all__)
