"""Claims about models that others trained, and where each is measured.

Each is stated before anything is measured, but for two whose answers were known in part: their predictions say so.
"""

from keyhole.apps.ledger.finding import Claim, Experiment, NamedFunction
from keyhole.papers import BONAERT_2021, CLARK_2019, EDELMAN_2022, KOOL_2019, SCHWALLER_2021, ZHANG_2022

ROLES = "keyhole.apps.ledger.checkpoints.head_roles"
MOTIVE = "the motivation of Edelman et al. (2022), whose slides show attention that is sparse or close to uniform; the rule and the threshold are keyhole's"
FORMULA = r"\mathrm{sink}:\ \sum_{t\in\mathrm{sinks}}a_t\ge\tfrac12;\qquad \mathrm{near\text{-}uniform}:\ \frac{H(a)}{\log n}\ge 0.95;\qquad \mathrm{sparse}:\ \frac{e^{H(a)}}{n}\le\tfrac14"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        Claim(
            id="language-heads",
            title="At least half of a language encoder's heads are sparse, local or sinks",
            statement=(
                "Heads of trained encoders do not look everywhere alike: at least half put their weight on a few tokens, on neighbours, or on a token that the tokenizer adds."
            ),
            formula=FORMULA,
            kind="measurement",
            source=MOTIVE,
            prediction=(
                "Of the 72 heads of MiniLM-L6 on 40 English sentences at least half are sparse, local or sinks, with the whole interval over resampled sentences; "
                "with all matrices redrawn at random none is, and with shuffled W_Q and W_K fewer are."
            ),
            could_fail="Fewer than half, one head of random weights among them, or as many with shuffled weights.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction(ROLES, "measure_language"),
    ),
    Experiment(
        Claim(
            id="vision-heads",
            title="At least half of a vision transformer's heads are sparse, sinks or near uniform at [CLS]",
            statement="At least half of the heads of a vision transformer that is read at [CLS] look at a few patches, at [CLS] itself, or at all patches nearly alike.",
            formula=FORMULA,
            kind="measurement",
            source=f"{MOTIVE}; the model is that of Bonaert et al. (2021)",
            prediction=(
                "Of the four heads of a one-layer vision transformer on MNIST's test images, at the query of [CLS], at least half are sparse, sinks or near-uniform, "
                "and at least one of them is not near-uniform; with all matrices redrawn at random every head is near-uniform."
            ),
            could_fail="Fewer than half, all of them near-uniform, or a head of random weights that is not.",
            papers=(EDELMAN_2022, BONAERT_2021),
        ),
        NamedFunction(ROLES, "measure_vision"),
    ),
    Experiment(
        Claim(
            id="reinforcement-heads",
            title="Encoders trained by reinforcement learning are near uniform in the first layer and sparse later",
            statement="Encoders of travelling-salesman tours, trained by rewards alone, look at all nodes nearly alike in their first layer, and at few in the later ones.",
            formula=FORMULA,
            kind="measurement",
            source=f"{MOTIVE}; the models are those of Kool et al. (2019)",
            prediction=(
                "For tours of 20 and of 50 nodes: at least half of the 8 heads of layer 1 are near-uniform, and at least half of the 16 heads of layers 2 and 3 are sparse; "
                "with all matrices redrawn at random none is sparse. This is a description that others gave of these models; that it fails in part was known when it was written here."
            ),
            could_fail="A layer 1 with fewer than half near-uniform, later layers with fewer than half sparse, or a sparse head of random weights.",
            papers=(EDELMAN_2022, KOOL_2019),
        ),
        NamedFunction(ROLES, "measure_reinforcement"),
    ),
    Experiment(
        Claim(
            id="heads-against-syntax",
            title="Single heads find determiners, objects and possessors better than any fixed offset",
            statement=(
                "Some heads of a language encoder point from a word to its syntactic head. A head and a direction chosen on one treebank agree with another better than "
                "the best fixed offset, and than the best head of the same model with shuffled and with random weights, all chosen alike."
            ),
            formula=r"\hat p_{\mathrm{head}}-\max(\hat p_{\mathrm{offset}},\hat p_{\mathrm{shuffled}},\hat p_{\mathrm{random}},\hat p_{\mathrm{chance}})>0",
            kind="replication",
            source="the protocol follows Clark et al. (2019), who chose and scored on one set; head, offset and controls are chosen on one part here and scored on the other",
            prediction=(
                "MiniLM-L6 on UD English-EWT: for each of det, obj and nmod:poss the interval of the head's share minus each rival's is above 0, 95 % for all relations together."
            ),
            could_fail="One of the three relations whose head is not above a rival.",
            papers=(CLARK_2019,),
        ),
        NamedFunction("keyhole.apps.ledger.checkpoints.syntax"),
    ),
    Experiment(
        Claim(
            id="checkpoint-exchangeability",
            title="Published encoders move with their rows and positions; order matters through positions alone",
            statement=(
                "An encoder's last rows move with its (row, position) pairs, exactly. Models without positions are exchangeable in their rows; models with them depend on order "
                "through the table of positions and in no other way."
            ),
            formula=r"f(PX)=P\,f(X)",
            kind="measurement",
            source="claim (a) of Zhang et al. (2022, abstract) starts from exchangeable positioned tokens; that the architecture is equivariant is textbook",
            prediction=(
                "Moved with their positions, rows of MiniLM-L6, of the MNIST transformer and of both travelling-salesman encoders change by at most 1e-9 of the largest entry. "
                "Tokens of MiniLM moved without them change its last rows by at least 1 % on average. The last node of a tour does not change, to 1e-9, when the others are reordered."
            ),
            could_fail="A change above 1e-9 where rows keep their positions or have none, or below 1 % where they do not.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.checkpoints.exchangeability"),
    ),
    Experiment(
        Claim(
            id="atom-mapping-head",
            title="The known head of a model of chemical reactions is its best at mapping atoms to their origin",
            statement="In an ALBERT trained on reactions without any atom map, one head is a sparse selector: from an atom of the product it looks at the same atom among the reactants.",
            formula=r"\mathrm{argmax}_{t\in\mathrm{reactants}}a_{\mathrm{atom},t}=\mathrm{origin}(\mathrm{atom})",
            kind="replication",
            source="Schwaller et al. (2021), whose package reads head 6 of layer 11 (counted from 1)",
            prediction=(
                "On eight reactions with 93 atoms of products, head 11-6 has the largest share of right origins of all 96 heads. These were written before they were looked at; "
                "eight others, with 48 atoms, were known to speak against the claim when it was written here, and are shown without being judged."
            ),
            could_fail="Another head with a larger share on the eight that are judged.",
            papers=(SCHWALLER_2021,),
        ),
        NamedFunction("keyhole.apps.ledger.checkpoints.atom_mapping"),
    ),
)
