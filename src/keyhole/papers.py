"""The works that keyhole rests on, with who proved what, and how well each statement is known here.

A statement quoted from a work carries a status. Only what was read there is quoted as the work's own; what is
recalled is described as following it; what is derived here is keyhole's own.
"""

from dataclasses import dataclass
from typing import Literal

Status = Literal["read", "recalled", "ours", "standard"]

STATUS_WORDS: dict[Status, str] = {
    "read": "quoted from there",
    "recalled": "following the work, from memory: constants are not quoted as its own",
    "ours": "derived here, with proof",
    "standard": "textbook",
}


@dataclass(frozen=True)
class Paper:
    """A published work: enough to find it and to cite it."""

    key: str
    authors: str
    title: str
    venue: str
    year: int
    arxiv: str | None = None

    @property
    def short(self) -> str:
        """Authors and year, as in running text."""
        return f"{self.authors}, {self.year}"

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography, its authors joined by "and"; et al. is "and others".

        >>> print(GROSS_2024.bibtex.splitlines()[1])
          author = {Gross and others},
        """
        names = self.authors.removesuffix(" et al.").split(", ") + ["others"] * self.authors.endswith(" et al.")
        eprint = f",\n  eprint = {{{self.arxiv}}},\n  archivePrefix = {{arXiv}}" if self.arxiv else ""
        fields = f"author = {{{' and '.join(names)}}},\n  title = {{{self.title}}},\n  howpublished = {{{self.venue}}}"
        return f"@misc{{{self.key},\n  {fields},\n  year = {{{self.year}}}{eprint}\n}}"


@dataclass(frozen=True)
class Source:
    """Where a statement comes from, and how well that is known here."""

    status: Status
    paper: Paper | None = None
    place: str = ""

    def __str__(self) -> str:
        """One line: the work, the place in it, the status."""
        who = ", ".join(part for part in (self.paper.short if self.paper else "keyhole", self.place) if part)
        return f"{who} ({STATUS_WORDS[self.status]})"


EDELMAN_2022 = Paper(
    key="edelman2022inductive",
    authors="Edelman, Goel, Kakade, Zhang",
    title="Inductive Biases and Variable Creation in Self-Attention Mechanisms",
    venue="ICML 2022, PMLR 162:5793–5831",
    year=2022,
    arxiv="2110.10090",
)
ZHANG_2022 = Paper(
    key="zhang2022analysis",
    authors="Zhang, Liu, Cai, Wang, Wang",
    title="An Analysis of Attention via the Lens of Exchangeability and Latent Variable Models",
    venue="arXiv",
    year=2022,
    arxiv="2212.14852",
)
ZHANG_2023 = Paper(
    key="zhang2023what",
    authors="Zhang, Zhang, Yang, Wang",
    title="What and How does In-Context Learning Learn? Bayesian Model Averaging, Parameterization, and Generalization",
    venue="arXiv",
    year=2023,
    arxiv="2305.19420",
)
DIACONIS_1980 = Paper(
    key="diaconis1980finite",
    authors="Diaconis, Freedman",
    title="Finite Exchangeable Sequences",
    venue="Annals of Probability 8(4)",
    year=1980,
)
ABBE_2023 = Paper(
    key="abbe2023sgd",
    authors="Abbe, Boix-Adserà, Misiakiewicz",
    title="SGD learning on neural networks: leap complexity and saddle-to-saddle dynamics",
    venue="COLT 2023",
    year=2023,
    arxiv="2302.11055",
)
TRAUGER_2023 = Paper(
    key="trauger2023sequence",
    authors="Trauger, Tewari",
    title="Sequence Length Independent Norm-Based Generalization Bounds for Transformers",
    venue="AISTATS 2024",
    year=2023,
    arxiv="2310.13088",
)
CLARK_2019 = Paper(
    key="clark2019bert",
    authors="Clark, Khandelwal, Levy, Manning",
    title="What Does BERT Look At? An Analysis of BERT's Attention",
    venue="BlackboxNLP 2019",
    year=2019,
    arxiv="1906.04341",
)
SCHWALLER_2021 = Paper(
    key="schwaller2021extraction",
    authors="Schwaller, Hoover, Reymond, Strobelt, Laino",
    title="Extraction of organic chemistry grammar from unsupervised learning of chemical reactions",
    venue="Science Advances 7(15)",
    year=2021,
)
KOOL_2019 = Paper(
    key="kool2019attention",
    authors="Kool, van Hoof, Welling",
    title="Attention, Learn to Solve Routing Problems!",
    venue="ICLR 2019",
    year=2019,
    arxiv="1803.08475",
)
BONAERT_2021 = Paper(
    key="bonaert2021fast",
    authors="Bonaert, Dimitrov, Baader, Vechev",
    title="Fast and Precise Certification of Transformers",
    venue="PLDI 2021",
    year=2021,
)
BARAK_2022 = Paper(
    key="barak2022hidden",
    authors="Barak, Edelman, Goel, Kakade, Malach, Zhang",
    title="Hidden Progress in Deep Learning: SGD Learns Parities Near the Computational Limit",
    venue="NeurIPS 2022",
    year=2022,
    arxiv="2207.08799",
)
GROSS_2024 = Paper(
    key="gross2024compact",
    authors="Gross et al.",
    title="Compact Proofs of Model Performance via Mechanistic Interpretability",
    venue="Advances in Neural Information Processing Systems",
    year=2024,
    arxiv="2406.11779",
)
ZHANG_2002 = Paper(
    key="zhang2002covering",
    authors="Zhang",
    title="Covering Number Bounds of Certain Regularized Linear Function Classes",
    venue="JMLR 2",
    year=2002,
)
LOTFI_2023 = Paper(
    key="lotfi2023nonvacuous",
    authors="Lotfi, Finzi, Kuang, Rudner, Goldblum, Wilson",
    title="Non-Vacuous Generalization Bounds for Large Language Models",
    venue="arXiv",
    year=2023,
    arxiv="2312.17173",
)
MCALLESTER_1999 = Paper(
    key="mcallester1999pac",
    authors="McAllester",
    title="PAC-Bayesian Model Averaging",
    venue="COLT 1999",
    year=1999,
)
CATONI_2007 = Paper(
    key="catoni2007pac",
    authors="Catoni",
    title="PAC-Bayesian Supervised Classification: The Thermodynamics of Statistical Learning",
    venue="IMS Lecture Notes 56",
    year=2007,
)
