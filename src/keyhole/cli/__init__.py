"""The keyboard: one verb per file; parse, call one verb, print; no arithmetic."""

from keyhole.cli.app import main as main
