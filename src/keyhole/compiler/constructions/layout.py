"""Layouts: which coordinates of a token's vector hold its position and its symbol, and where the head reads them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Embedding

Places = tuple[int, ...]  # relevant positions, in order


@dataclass(frozen=True)
class Layout(ABC):
    """How T bits and [CLS] are vectors, and what a head's logits and values are as matrices there.

    The last coordinate is [CLS]'s own: x_CLS is its unit vector. Logits and values come by relevant position and symbol
    (`focus`, `values`) and for all the others (`rest`), as a HeadPlan has them.
    """

    context: int
    names_position: ClassVar[bool]  # whether a token of the vocabulary names its position beside its symbol
    orthogonal: ClassVar[bool] = True  # whether tokens of two positions are: then any logits can be chosen, exactly
    radius: ClassVar[float]  # B_X, the length of the longest token

    @classmethod
    @abstractmethod
    def stored(cls, context: int, dimension: int, codes_seed: int | None) -> "Layout":
        """The layout of a model file, from what its description says of it."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """d, the coordinates of a token."""

    @property
    def codes_seed(self) -> int | None:
        """What random position codes are drawn from, where there are any."""
        return None

    @abstractmethod
    def embedding(self) -> Embedding:
        """Every token as a vector."""

    @abstractmethod
    def diameter(self) -> float | None:
        """D_X, the largest distance of two tokens; None where it is not computed."""

    @abstractmethod
    def key_entries(self, places: Places, focus: Float[np.ndarray, "s 2"]) -> np.ndarray:
        """The entries of the key vector that can differ from zero, where all other logits are 0."""

    @abstractmethod
    def key_vector(
        self, places: Places, focus: Float[np.ndarray, "s 2"], logits: Float[np.ndarray, "T 2"]
    ) -> Float[np.ndarray, "d"]:
        """The vector q whose product with a token is its logit: M = q x_CLSᵀ."""

    @abstractmethod
    def value_rows(self, values: Float[np.ndarray, "s 2 k"], rest: Float[np.ndarray, "2 k"]) -> np.ndarray:
        """The rows of W_V that can differ from zero, without [CLS]'s."""

    @abstractmethod
    def value_matrix(
        self, places: Places, values: Float[np.ndarray, "s 2 k"], rest: Float[np.ndarray, "2 k"]
    ) -> Float[np.ndarray, "d k"]:
        """W_V, with 0 in its last row, which is [CLS]'s."""

    def check_head(  # noqa: B027  (where every position has its own coordinates there is nothing to refuse)
        self,
        places: Places,
        focus: np.ndarray,
        rest_logits: np.ndarray | float,
        values: Float[np.ndarray, "s 2 k"],
        rest: Float[np.ndarray, "2 k"],
    ) -> None:
        """Refuse a head that no matrices have in this layout: what is proved of tables would not hold of the model."""

    @abstractmethod
    def vocabulary(self) -> list[str]:
        """The names of the tokens, [CLS] last."""

    @abstractmethod
    def directions(self) -> list[str]:
        """The name of every coordinate."""

    @abstractmethod
    def symbol_columns(self) -> Float[np.ndarray, "d 2"]:
        """Column b is 1 on the coordinates that say "this token shows b", wherever it stands."""
