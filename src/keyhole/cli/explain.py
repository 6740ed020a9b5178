"""`keyhole explain`: a word of an answer."""

from typing import Annotated

import typer

from keyhole.cli.arguments import complete_terms


def explain_command(
    term: Annotated[
        str | None,
        typer.Argument(
            help="A word or a letter, such as margin or P_∞; all if not given.", autocompletion=complete_terms
        ),
    ] = None,
) -> object:
    """Explain a word or a letter of an answer.

    Examples:

      keyhole explain margin

      keyhole explain "exit code"
    """
    from keyhole.api.explain import explain

    return explain(term)
