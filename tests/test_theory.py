"""Every statement that the code rests on has its place in docs/THEORY.md."""

import ast
import re
from pathlib import Path

import pytest

import keyhole
from keyhole.bounds.construction_norms import pair_construction
from keyhole.bounds.theorems.rival_bounds import rivals
from keyhole.compiler.constructions.registry import registered_constructions

SOURCE = Path(keyhole.__file__).parent
ROOT = SOURCE.parents[1]
PAGE = (ROOT / "docs" / "THEORY.md").read_text("utf8")
HEADINGS = re.findall(r"^#{2,3} (.*)$", PAGE, re.MULTILINE)
ENTRIES = dict(zip(HEADINGS, re.split(r"^#{2,3} .*$", PAGE, flags=re.MULTILINE)[1:], strict=True))
LISTED = re.findall(r"\[`(keyhole\.[\w.]+)`\]\(\.\./([\w/.]+)\)", PAGE)

KINDS = "Theorem|Lemma|Corollary|Proposition|Rule|Construction"
CITED = re.compile(rf"\b(?:{KINDS})s? [A-Z0-9]\b′?(?:(?:, | and | or )[A-Z]\b(?![-\w]))*")
LABEL = re.compile(r"\b[A-Z]\d{1,2}[a-z]?\b")
NO_CITATION = {"T1": "T + 1 as the side of an array", "L6": "part of the name MiniLM-L6"}
NUMBER_FORMAT = re.compile(r"[FIU](?:8|16|32|64)")  # as files of weights name them
MARKS = {
    "Ours": "ours",
    "Textbook": "textbook",
    "Standard": "textbook",
    "Following": "recalled",
    "recalled": "recalled",
}


def documented(tree, path):
    """The dotted name and docstring of every class and function, and of those inside them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{path}.{node.name}"
            yield name, ast.get_docstring(node) or ""
            yield from documented(node, name)
        elif isinstance(node, ast.If | ast.Try):
            yield from documented(node, path)


def modules():
    """Every file of the package, by dotted name."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield ".".join(("keyhole", *path.relative_to(SOURCE).with_suffix("").parts)), path.read_text("utf8")


def source_of(docstring):
    """The text of the line that says where a statement comes from, continuation lines included; or None."""
    found = re.search(r"^Source {2,}(.*(?:\n {5,}.*)*)", docstring, re.MULTILINE)
    return found and " ".join(found[1].split())


TREES = {module: ast.parse(text) for module, text in modules()}
DOCSTRINGS = {name: text for module, tree in TREES.items() for name, text in documented(tree, module)}
STATED = {name: source for name, text in DOCSTRINGS.items() if (source := source_of(text)) is not None}


def cited(text):
    """The named statements of a text: "Theorems T and L" names two.

    >>> cited("by Theorems T and L, and Rule 3")
    ['Theorem T', 'Theorem L', 'Rule 3']
    """
    names = []
    for phrase in CITED.findall(" ".join(text.split())):
        kind, *labels = re.split(r" |, ", phrase)
        names += [f"{kind.removesuffix('s')} {label}" for label in labels if label not in ("and", "or", "")]
    return names


def has_heading(name):
    """Whether a named statement has an entry of its own."""
    return any(heading.split(" (")[0] == name for heading in HEADINGS)


def entries_of(name):
    """The entries that list a function."""
    return [entry for entry in ENTRIES.values() if f"[`{name}`]" in entry]


def test_every_source_has_its_target():
    """A function whose docstring has a Source line is listed on the page; if one is not, add it to an entry."""
    assert len(STATED) > 200
    assert not [name for name in STATED if not entries_of(name)]


def test_marks_agree():
    """What a docstring says of its source, ours, textbook or recalled, the entry that lists the function says too."""
    wrong = {}
    for name, source in STATED.items():
        marks = {mark for word, mark in MARKS.items() if re.search(rf"\b{word}\b", source)}
        said = " ".join(entries_of(name)).lower()
        if lacking := sorted(mark for mark in marks if mark not in said):
            wrong[name] = lacking
    assert not wrong


def test_a_function_is_listed_under_the_statement_it_names():
    """A function whose source is "Ours (Theorem T)" or the like is in the entry of that name."""
    owned = {name: re.match(rf"\w+(?: \(|: )((?:{KINDS}) \w)\b", source) for name, source in STATED.items()}
    named = [(name, found[1]) for name, found in owned.items() if found]
    assert len(named) > 30
    entries = {heading.split(" (")[0]: entry for heading, entry in ENTRIES.items()}
    assert not [each for each in named if f"[`{each[0]}`]" not in entries.get(each[1], "")]


def test_what_is_listed_is_there():
    """A dotted name is that of a module, class or function with a docstring; its link leads to the file that has it."""
    assert LISTED
    wrong = []
    for name, place in LISTED:
        module = ".".join(Path(place).with_suffix("").parts[1:])
        if module not in TREES or not (DOCSTRINGS.get(name) or (name == module and ast.get_docstring(TREES[module]))):
            wrong.append(name)
        elif not name.startswith(module):
            wrong.append(place)
    assert not wrong


def test_every_named_statement_has_a_heading():
    """What any file or page calls Theorem, Lemma, Corollary, Rule or Construction has an entry of that name."""
    pages = [SOURCE / "apps" / "ledger" / "page.html.j2", ROOT / "README.md", *ROOT.glob("docs/*.md")]
    texts = {**dict(modules()), **{path.name: path.read_text("utf8") for path in pages}}
    named = {(place, statement) for place, text in texts.items() for statement in cited(text)}
    assert len({statement for _, statement in named}) > 20
    assert not [each for each in sorted(named) if not has_heading(each[1])]


def sentences(tree):
    """Every string of a file, docstrings and parts of f-strings included."""
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def test_no_label_is_private():
    """A letter with a number, in a docstring or in anything that is printed, is defined on the page in bold."""
    used = {label for tree in TREES.values() for sentence in sentences(tree) for label in LABEL.findall(sentence)}
    used = {label for label in used if not NUMBER_FORMAT.fullmatch(label)}
    defined = set(re.findall(r"\*\*([A-Z]\d{1,2})\*\*", PAGE))
    assert defined
    assert used - defined - set(NO_CITATION) == set()
    assert set(NO_CITATION) <= used


@pytest.mark.parametrize("private", ["T3", "S43", "S22b", "N1", "C12"])
def test_a_label_of_private_notes_is_found(private):
    """Labels of the kinds that notes use are seen by the search, and none of them is defined."""
    assert LABEL.findall(f"Source     Ours ({private}).") == [private]
    assert f"**{private}**" not in PAGE


def test_what_is_printed_by_name_is_defined():
    """Rivals of a bound and targets of a construction are told by short names, and each is on the page."""
    printed = {
        rival.key.rstrip("ᵀ") for rival in rivals(pair_construction("and", 10, 2), 100) if LABEL.match(rival.key)
    }
    printed |= {target.split(" ")[0] for construction in registered_constructions() for target in construction.targets}
    assert len(printed) > 15
    assert not [name for name in printed if f"**{name}**" not in PAGE and not has_heading(f"Construction {name}")]


def test_links_of_the_contents_lead_to_headings():
    """Every heading is in the contents once, and every link within the page has its heading."""
    slugs = [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADINGS if heading != "Contents"
    ]
    assert len(set(slugs)) == len(slugs)
    assert re.findall(r"\]\(#([^)]*)\)", ENTRIES["Contents"]) == slugs


def test_decimals_of_statements_agree():
    """A number with decimals in the statement of a function stands in the entry that lists it, digit by digit."""
    compared, wrong = 0, []
    for name in STATED:
        found = re.search(r"^Statement {2,}(.*(?:\n {5,}.*)*)", DOCSTRINGS[name], re.MULTILINE)
        numbers = re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", found[1]) if found else []
        said = " ".join(entries_of(name))
        compared += len(numbers)
        wrong += [(name, number) for number in numbers if not re.search(rf"(?<![\d.]){re.escape(number)}", said)]
    assert compared >= 5
    assert not wrong
