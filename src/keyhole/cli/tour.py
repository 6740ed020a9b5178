"""`keyhole tour`: five questions and their answers, in a minute."""

import shlex
import tempfile
from pathlib import Path

import typer

STEPS = (  # what a person wonders, and the command that answers
    ("Can one attention head compute a function of three tokens among 512?", 'compile "x3 & x17 & ~x40" --context 512'),
    ("What does theory promise after a million samples?", "bound and:3 --samples 1e6 --context 1000"),
    (
        "How many samples does learning take as the context grows?",
        "learn and:3 --context 25..200 --learner elimination",
    ),
    ("What do these weights compute, on every input?", "prove {model}"),
    ("Does attention infer what is hidden?", "infer gaussian --size 8..64"),
)


def tour_command() -> None:
    """Show five answers in a minute.

    Each command is printed before its answer, to be copied. Runs go to a folder that is removed at the end.

    Example:

      keyhole tour
    """
    from keyhole.cli.app import app

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.safetensors"
        for number, (question, line) in enumerate(STEPS, 1):
            typer.echo(f"{number}. {question}\n$ keyhole {line.format(model=model.name)}")
            words = shlex.split(line.format(model=model))
            words += ["--out", str(model)] if words[0] == "compile" else []
            words += ["--store", folder] if words[0] == "learn" else []
            app(words, standalone_mode=False)
            typer.echo()
    typer.echo("More: keyhole --help; keyhole serve opens the laboratory in a browser.")
