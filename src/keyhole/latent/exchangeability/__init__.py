"""Tests of exchangeability and of a latent variable, and what a representation of a sequence keeps of it."""

from keyhole.latent.exchangeability.balance import Birthday as Birthday
from keyhole.latent.exchangeability.definetti import ASSUMPTION as ASSUMPTION
from keyhole.latent.exchangeability.definetti import contraction_rate as contraction_rate
from keyhole.latent.exchangeability.definetti import cumulative_regret as cumulative_regret
from keyhole.latent.exchangeability.definetti import finite_de_finetti_bound as finite_de_finetti_bound
from keyhole.latent.exchangeability.definetti import largest_urn_distance as largest_urn_distance
from keyhole.latent.exchangeability.definetti import martingale_drift as martingale_drift
from keyhole.latent.exchangeability.definetti import pair_eigenvalue as pair_eigenvalue
from keyhole.latent.exchangeability.definetti import position_floor as position_floor
from keyhole.latent.exchangeability.definetti import regret_ceiling as regret_ceiling
from keyhole.latent.exchangeability.extendibility import ExtendibilityTest as ExtendibilityTest
from keyhole.latent.exchangeability.extendibility import extendibility_test as extendibility_test
from keyhole.latent.exchangeability.extendibility import least_eigenvalue as least_eigenvalue
from keyhole.latent.exchangeability.order import neighbours_test as neighbours_test
from keyhole.latent.exchangeability.order import places_test as places_test
from keyhole.latent.exchangeability.order import require_sequences as require_sequences
from keyhole.latent.exchangeability.permutations import PermutationTest as PermutationTest
from keyhole.latent.exchangeability.permutations import Rate as Rate
from keyhole.latent.exchangeability.permutations import binomial_limit as binomial_limit
from keyhole.latent.exchangeability.permutations import least_permutations as least_permutations
from keyhole.latent.exchangeability.permutations import rejection_rate as rejection_rate
from keyhole.latent.exchangeability.permutations import require_permutations as require_permutations
from keyhole.latent.exchangeability.repeats import repeated_sequences as repeated_sequences
from keyhole.latent.exchangeability.sufficiency import Representation as Representation
from keyhole.latent.exchangeability.sufficiency import compare_representations as compare_representations
from keyhole.latent.exchangeability.sufficiency import determines as determines
