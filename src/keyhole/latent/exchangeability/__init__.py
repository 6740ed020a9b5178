"""Tests of exchangeability and of a latent variable."""

from keyhole.latent.exchangeability.balance import Birthday as Birthday
from keyhole.latent.exchangeability.extendibility import ExtendibilityTest as ExtendibilityTest
from keyhole.latent.exchangeability.extendibility import extendibility_test as extendibility_test
from keyhole.latent.exchangeability.extendibility import least_eigenvalue as least_eigenvalue
from keyhole.latent.exchangeability.order import neighbours_test as neighbours_test
from keyhole.latent.exchangeability.order import places_test as places_test
from keyhole.latent.exchangeability.order import require_sequences as require_sequences
from keyhole.latent.exchangeability.permutations import Look as Look
from keyhole.latent.exchangeability.permutations import PermutationTest as PermutationTest
from keyhole.latent.exchangeability.permutations import least_permutations as least_permutations
from keyhole.latent.exchangeability.permutations import require_permutations as require_permutations
from keyhole.latent.exchangeability.repeats import repeated_sequences as repeated_sequences
