"""Print constraints for pip: the tools of tests as pinned, and with `lowest` every dependency at its lower bound."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
tools = [
    line for line in project["optional-dependencies"]["test"] if line.startswith(("beartype", "hypothesis", "pytest"))
]
lowest = [line.replace(">=", "==") for line in project["dependencies"]] if sys.argv[1:] == ["lowest"] else []
print(*tools, *lowest, sep="\n")
