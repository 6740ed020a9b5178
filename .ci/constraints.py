"""Print constraints for pip: the tools of tests as pinned; with `lowest`, every dependency at its lower bound, too.

Dependencies are those of a plain install and of the extras train, draw and live.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
tools = [line for line in extras["test"] if line.startswith(("beartype", "hypothesis", "jaxtyping", "pytest"))]
needed = [*project["dependencies"], *(line for extra in ("train", "draw", "live") for line in extras[extra])]
lowest = [line.replace(">=", "==") for line in needed] if sys.argv[1:] == ["lowest"] else []
print(*tools, *lowest, sep="\n")
