"""Rigorous double-precision arithmetic: every result encloses the exact one.

An array of uncertain numbers has two representations, with the constants of rounding in common:

- `Enclosure`, two ends. A monotone function maps ends to ends, so ReLU, quotients, comparisons and ranges known between
  bounds lose nothing but the last digit. A sum of products needs exact weights.
- `Ball`, a midpoint and a radius. A product of two uncertain matrices costs three matrix products; with ends it would
  cost four and a choice for every entry. But every operation pads the radius by 2^−30 of itself, which is much where
  the radius is a range and not a rounding error; and ReLU keeps the radius of a ball that ends would cut at 0.

Neither replaces the other without loss. With balls, the proof of a compiled model with a head for each position would
be far looser, since the leak of each head is a range and not a rounded number; and the proofs of one-hot pairs would
claim margins that are smaller in their last digits, so that stored files would no longer pass their check.
`ball_of` is the one conversion from ends to a ball; a ball lies between its `low` and its `high`.
"""

from keyhole.rigorous.enclosures import GROW as GROW
from keyhole.rigorous.enclosures import UNDERFLOW as UNDERFLOW
from keyhole.rigorous.enclosures import UNDERFLOW_OF_RADIUS as UNDERFLOW_OF_RADIUS
from keyhole.rigorous.enclosures import UNIT as UNIT
from keyhole.rigorous.enclosures import Ball as Ball
from keyhole.rigorous.enclosures import Enclosure as Enclosure
from keyhole.rigorous.enclosures import ball_of as ball_of
from keyhole.rigorous.enclosures import between as between
from keyhole.rigorous.enclosures import exact as exact
from keyhole.rigorous.enclosures import exactly as exactly
from keyhole.rigorous.enclosures import exponentials as exponentials
from keyhole.rigorous.enclosures import gamma as gamma
from keyhole.rigorous.enclosures import inverse as inverse
from keyhole.rigorous.enclosures import reading as reading
from keyhole.rigorous.enclosures import relu as relu
from keyhole.rigorous.enclosures import root as root
from keyhole.rigorous.enclosures import total as total
from keyhole.rigorous.enclosures import weighted_sum as weighted_sum
