"""The command line: one command per file; parse, call one function, print; no arithmetic."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being read in ends it in a word, too."""
    try:
        from keyhole.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("keyhole: interrupted\n")
        raise SystemExit(130) from None
