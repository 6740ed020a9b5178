"""Errors in the words of the command line: commands and options in place of what the library names for Python."""

import re

COMMANDS = (  # what the library writes between backquotes, and what is typed instead
    (r"keyhole\.api\.bound\.norms_template\(\)", "keyhole bound --template"),
    (r"keyhole\.compile\(\.\.\.\)\.save", "keyhole compile --out"),
    (r"keyhole\.(check|prove)\((['\"])([^`]*)\2\)", r"keyhole \1 \3"),
    (r"keyhole\.(check|prove|compile|heads|learn)", r"keyhole \1"),
    (r"keyhole\.checkpoint_norms", "keyhole checkpoint norms"),
    (r"keyhole\.show_run", "keyhole runs show"),
    (r"keyhole\.runs\(\)", "keyhole runs list"),
    (r"keyhole\.forget_runs", "keyhole runs prune"),
    (r"SampleComplexity\.save_plan", "keyhole learn --save-plan"),
)
OPTIONS = (
    "accepted",
    "budget",
    "context",
    "data",
    "images",
    "lengths",
    "online",
    "positive",
    "rows",
    "samples",
    "store",
    "text",
)


def in_commands(sentence: str) -> str:
    """The sentence with commands for Python functions, and options for their arguments.

    >>> in_commands("See `keyhole.runs()`, or `keyhole.check('and.safetensors')`, or give `samples`.")
    'See `keyhole runs list`, or `keyhole check and.safetensors`, or give --samples.'
    """
    for function, command in COMMANDS:
        sentence = re.sub(f"`{function}`", f"`{command}`", sentence)
    return re.sub(rf"`({'|'.join(OPTIONS)})`", r"--\1", sentence)
