"""How Sphinx builds the site; formulas become MathML, and each page gets a twin in Markdown."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

import keyhole

# Lessons run `keyhole` of this environment, each in a folder of its own, on one thread, without bars of progress.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ |= {
    "COLUMNS": "88",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": "1",
    "TTY_COMPATIBLE": "0",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}

project = "keyhole"
version = release = keyhole.__version__
extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["jupyter_execute"]

html_theme = "furo"
html_title = "keyhole"
html_show_copyright = html_show_sphinx = html_copy_source = False
html_favicon = None
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
templates_path = [str(Path(__file__).parent / "templates")]
pygments_style, pygments_dark_style = "friendly", "monokai"

myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 900  # a busy machine fails no build
nb_merge_streams = True
nb_code_prompt_show, nb_code_prompt_hide = "Open the answer", "Close the answer"
nb_mime_priority_overrides = [("html", "image/svg+xml", 0), ("html", "text/html", 5)]


STYLING = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")  # of a terminal


def visit_math(writer: Any, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers draw without a script."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    formula = convert(node.astext(), display=display)
    writer.body.append(f'<div class="math">{formula}</div>' if display == "block" else formula)
    raise nodes.SkipNode


def write_twins(app: Sphinx, error: Exception | None) -> None:
    """Write each page once more as Markdown, beside its HTML, and their list as llms.txt."""
    if error:
        return
    out, lines = (
        Path(app.outdir),
        [
            f"# {project} {release}",
            "",
            "> What self-attention can represent, infer and learn, and how much data that takes.",
            "",
        ],
    )
    for name in sorted(app.env.found_docs, key=lambda name: (name != "index", name.count("/"), name)):
        executed = out.parent / "jupyter_execute" / f"{name}.ipynb"
        text = (
            from_notebook(json.loads(executed.read_text("utf8")))
            if executed.exists()
            else Path(app.env.doc2path(name)).read_text("utf8")
        )
        text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).lstrip()
        (out / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.md").write_text(text, "utf8")
        lines.append(f"- [{app.env.titles[name].astext()}]({name}.md)")
    (out / "llms.txt").write_text("\n".join(lines) + "\n", "utf8")


def from_notebook(notebook: dict[str, Any]) -> str:
    """Return an executed notebook as Markdown, with what its cells print."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            parts.append(text)
            continue
        printed = ""
        for output in cell["outputs"]:
            shown = "".join(output.get("text") or output.get("data", {}).get("text/plain", "")).replace("\r\n", "\n")
            printed += "" if printed.endswith(shown) else shown  # merged streams stand before what they were merged of
        parts += [
            f"```python\n{text}\n```",
            f"```text\n{STYLING.sub('', printed).rstrip()}\n```" if printed.strip() else "",
        ]
    return "\n\n".join(filter(None, parts)) + "\n"


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas and the twins."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math, None))
    app.connect("build-finished", write_twins)


html_math_renderer = "mathml"
