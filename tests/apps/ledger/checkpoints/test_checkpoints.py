"""Claims about published models: what is absent is named with what fetches it; what is there is judged by the rule."""

import hashlib
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from keyhole.apps.heads.head_statistics import NAMES, HeadUse
from keyhole.apps.heads.order import OrderReport
from keyhole.apps.ledger import ledger
from keyhole.apps.ledger.checkpoints import atom_mapping, head_roles, row_order, syntax
from keyhole.apps.ledger.checkpoints.sources import TREEBANK, TSP, VARIABLE, VIT, Needed, named
from keyhole.apps.ledger.reproduction import reproduce
from keyhole.apps.ledger.verdict import verdict_of
from keyhole.errors import MissingError

PUBLISHED = ledger.experiments_of(*ledger.PUBLISHED)
DIGEST = hashlib.sha256(b"weights").hexdigest()[:8]


@pytest.fixture
def bare(monkeypatch):
    """A machine without any of the models."""
    monkeypatch.delenv(VARIABLE, raising=False)

    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("keyhole.apps.heads.packages.distribution", absent)


@pytest.mark.parametrize("experiment", PUBLISHED, ids=lambda experiment: experiment.claim.id)
def test_an_absent_model(bare, experiment):  # noqa: ARG001  (a machine)
    """Every claim is then not measured, says which command fetches what is absent, and has no number."""
    outcome = experiment.measure("quick", 0)
    assert outcome.verdict == "not measured here"
    assert any(command in outcome.measurement for command in ("pip install", "git clone", "npm pack"))
    assert not outcome.numbers
    assert not outcome.figures


@pytest.mark.slow
def test_what_is_absent_is_not_kept(bare, tmp_path):  # noqa: ARG001  (a machine)
    """No file is kept of it, so that it is looked at again; page, text and JSON have it, counted neither way."""
    found = reproduce(["vision-heads"], folder=tmp_path, workers=1)
    assert not list(tmp_path.glob("findings/*"))
    page = (tmp_path / "index.html").read_text("utf8")
    assert "git clone" in page
    assert '"not measured here"' in found.to_json()
    assert "not measured here" in str(found)


def test_files_in_the_folders_that_are_named(monkeypatch, tmp_path):
    """The variable names several folders; a file is found under each of its paths, and told by its digest."""
    for needed, place in (
        (VIT, VIT.places[1]),
        (TSP[20], TSP[20].places[0]),
        (TREEBANK["dev"], TREEBANK["dev"].places[1]),
    ):
        folder = tmp_path / needed.what.replace(" ", "-")
        (folder / place).parent.mkdir(parents=True)
        (folder / place).write_bytes(b"weights")
        monkeypatch.setenv(VARIABLE, f"{tmp_path / 'nowhere'}:{folder}")
        assert needed.find() == folder / place
        assert named([needed.find()]) == f"{(folder / place).parent.name}/{(folder / place).name} ({DIGEST})"
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(MissingError, match="attention-learn-to-route"):
        TSP[50].find()


def use_of(entropies, sinks=0.0):
    """Heads in one layer with these entropies on five inputs alike; effective support as a share follows entropy."""
    table = np.zeros((5, 1, len(entropies), len(NAMES)))
    for head, entropy in enumerate(entropies):
        table[:, 0, head, NAMES.index("entropy")] = entropy
        table[:, 0, head, NAMES.index("share")] = entropy
        table[:, 0, head, NAMES.index("sink")] = sinks
    return HeadUse(table, table, ordered=False)


def test_shares_of_heads():
    """Of entropies .1, .2, .5, 1 the first two are sparse and the last is near-uniform; resamples agree."""
    share = head_roles.Counted(use_of([0.1, 0.2, 0.5, 1.0]), ("sparse",), 0)
    assert (share.value, share.low, share.high, str(share)) == (0.5, 0.5, 0.5, "2")
    assert share.of(use_of([1.0, 1.0, 0.1, 1.0])) == 0.25
    assert share.of(use_of([1.0, 1.0, 0.1, 1.0]), ("near-uniform",)) == 0.75


@pytest.mark.parametrize(
    ("good", "bad", "verdict"),
    [(True, False, "holds"), (False, True, "fails here"), (False, False, "undecided at this scale")],
)
def test_verdicts(good, bad, verdict):
    """What speaks for a claim makes it hold, what speaks against it fail, and neither leaves it open."""
    assert verdict_of(holds=good, fails=bad) == verdict


def test_reactions_are_as_they_are_written():
    """Every atom of a product has origins of its own element; bonds close rings and branches."""
    for smiles, origins in atom_mapping.REACTIONS:
        reaction = atom_mapping.Reaction(smiles)
        assert "".join(reaction.pieces[1:-1]) == smiles
        assert len(origins) == len(reaction.right)
        assert all(reaction.alike[atom, origin] for atom, those in enumerate(origins) for origin in those)
    ring = atom_mapping.Reaction("Cc1ccc(N)cc1>>C(O)N")
    assert ring.left_bonds.sum() == 2 * 8
    assert [tuple(np.flatnonzero(row)) for row in ring.left_bonds[:2]] == [(1,), (0, 2, 7)]
    assert ring.right_bonds.tolist() == [[False, True, True], [True, False, False], [True, False, False]]


def test_ways_of_reading_a_map():
    """A map that looks at the right atoms is read right by every way; the package's way mends one wrong atom."""
    reaction = atom_mapping.Reaction("CCO>>OCC")
    maps = np.full((1, len(reaction.pieces), len(reaction.pieces)), 0.01)
    for atom, origin in enumerate((2, 1, 0)):
        maps[0, reaction.right[atom], reaction.left[origin]] = 0.9
    assert all(named.tolist() == [[2, 1, 0]] for named in reaction.read(maps).values())
    maps[0, reaction.right[2], reaction.left[1]] = 0.95  # the last carbon looks at the one that is taken
    read = reaction.read(maps)
    assert read["argmax"].tolist() == [[2, 1, 1]]
    assert read["package"].tolist() == [[2, 1, 0]]


def test_an_origin_is_taken_once():
    """Of two atoms that look at one origin the surer takes it, and the other what is left."""
    reaction = atom_mapping.Reaction("C.C>>C.C")
    maps = np.zeros((1, len(reaction.pieces), len(reaction.pieces)))
    for atom, weights in enumerate(((0.9, 0.1), (0.8, 0.2))):
        maps[0, reaction.right[atom], reaction.left] = weights
    read = reaction.read(maps)
    assert read["argmax"].tolist() == [[0, 0]]
    assert read["package"].tolist() == [[0, 1]]


@pytest.mark.parametrize(("unseen", "verdict"), [(0.9, "holds"), (0.7, "fails here")])
def test_atoms_are_judged_on_reactions_that_were_not_known(monkeypatch, unseen, verdict):
    """The verdict is that of the last eight reactions, whatever all sixteen say; the text has both."""

    def shares(reactions=atom_mapping.REACTIONS):
        table = np.full((12, 8), 0.8)
        table[atom_mapping.NAMED] = unseen if len(reactions) == 8 else 1.5 - unseen
        return dict.fromkeys(atom_mapping.WAYS, table), sum(len(origins) for _, origins in reactions)

    monkeypatch.setattr(atom_mapping, "shares", shares)
    outcome = atom_mapping.experiment.measure("quick", 0)
    assert outcome.verdict == verdict
    assert outcome.measurement.startswith("It is the best head" if verdict == "holds" else "It is not the best head")
    assert "93 atoms of 8 products" in outcome.measurement
    assert "141 atoms of 16 products" in outcome.measurement


def test_what_was_known_is_in_the_prediction():
    """A prediction whose answer was known in part when it was written says so itself, where it is printed."""
    predictions = {experiment.claim.id: experiment.claim.prediction for experiment in PUBLISHED}
    for name in ("reinforcement-heads", "atom-mapping-head"):
        assert "known" in predictions[name]


@pytest.mark.extra("rxnmapper")
def test_the_head_that_maps_atoms():
    """Head 6 is best at every layer from the second on; 11-6 is fourth of 96, and tied for best the package's way."""
    try:
        found, atoms = atom_mapping.shares()
    except MissingError as error:
        pytest.skip(str(error))
    assert atoms == 141
    plain = found["argmax"]
    assert (plain[1:].argmax(axis=1) == 5).all()
    assert round(plain[10, 5] * atoms) == 133
    assert round(plain.max() * atoms) == 137
    assert np.delete(plain, 5, axis=1).max() < 0.55
    assert found["package"][10, 5] == found["package"].max()
    unseen, atoms = atom_mapping.shares(atom_mapping.REACTIONS[atom_mapping.KNOWN :])
    assert (atoms, round(unseen["argmax"][10, 5] * atoms), round(unseen["argmax"].max() * atoms)) == (93, 88, 89)


def test_the_beginning_of_a_treebank(tmp_path):
    """The first sentences as a file of their own; the whole where no number is given."""
    path = tmp_path / "bank.conllu"
    path.write_text("# 1\n1\ta\n\n# 2\n1\tb\n\n# 3\n1\tc\n\n")
    folder = tmp_path / "cut"
    folder.mkdir()
    assert syntax._beginning(path, 2, folder).read_text() == "# 1\n1\ta\n\n# 2\n1\tb\n\n"
    assert syntax._beginning(path, None, folder) == path


TOGETHER = {"MiniLM": 1e-15, "MNIST": 1e-15, "tours of 20": 1e-15, "tours of 50": 1e-15}
ALONE = {"MiniLM": 0.5, "MNIST": 0.5, "tours of 20": None, "tours of 50": None}  # tours have no positions
CONTEXT = {"MiniLM": 0.3, "MNIST": 0.3, "tours of 20": 1e-15, "tours of 50": 1e-15}


def test_verdicts_on_moved_rows():
    """It holds as predicted; rows that change with their positions, or tokens that do not without, turn it."""
    assert row_order.judge(TOGETHER, ALONE, CONTEXT) == "holds"
    for name in TOGETHER:
        assert row_order.judge({**TOGETHER, name: 1e-8}, ALONE, CONTEXT) == "fails here"
    assert row_order.judge(TOGETHER, {**ALONE, "MiniLM": 0.009}, CONTEXT) == "fails here"
    for name in ("tours of 20", "tours of 50"):
        assert row_order.judge(TOGETHER, ALONE, {**CONTEXT, name: 1e-8}) == "fails here"


def readings(missing):
    """The readings, each time with another one replaced, among those that the prediction needs."""
    yield from (({**TOGETHER, name: missing}, ALONE, CONTEXT) for name in TOGETHER)
    yield TOGETHER, {**ALONE, "MiniLM": missing}, CONTEXT
    yield from ((TOGETHER, ALONE, {**CONTEXT, name: missing}) for name in ("tours of 20", "tours of 50"))


def test_a_reading_that_is_missing():
    """A reading that the prediction needs is refused where it is absent; one that is NaN fails the claim."""
    for three in readings(None):
        with pytest.raises(MissingError, match="gives no such reading"):
            row_order.judge(*three)
    assert all(row_order.judge(*three) == "fails here" for three in readings(float("nan")))


@pytest.mark.parametrize("missing", [None, "MNIST", "tours of 50"])
def test_a_model_whose_rows_could_not_be_moved(monkeypatch, tmp_path, missing):
    """The whole measurement is "holds" with every reading, and without one of them it is not: the text names it."""
    (tmp_path / "weights").write_bytes(b"weights")
    names = iter(TOGETHER)

    def model_order(*_, **__):
        name = next(names)
        together = None if name == missing else TOGETHER[name]
        return OrderReport("", together, ALONE[name], CONTEXT[name], 10)

    monkeypatch.setattr(row_order, "model_order", model_order)
    monkeypatch.setattr(row_order, "load_checkpoint", lambda *_, **__: None)
    monkeypatch.setattr(row_order, "read_digits", lambda _: np.zeros((10, 28, 28)))
    monkeypatch.setattr(Needed, "find", lambda _: tmp_path / "weights")
    outcome = row_order.experiment.measure("quick", 0)
    assert outcome.verdict == ("holds" if missing is None else "not measured here")
    if missing is not None:
        assert f"{missing}: moved with positions" in outcome.measurement
        assert not outcome.numbers


def test_powers_of_ten():
    """No change is drawn at −16."""
    assert [row_order._power(value) for value in (0.0, 1e-3, 1e-20)] == [-16.0, pytest.approx(-3), -16.0]
