"""The command line: one command per file; parse, call one function, print; no arithmetic."""

from keyhole.cli.app import main as main
