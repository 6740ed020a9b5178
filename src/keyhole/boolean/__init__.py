"""Functions on {0, 1}^T that read only a few positions, with no idea that transformers exist."""

from keyhole.boolean.families import conjunction as conjunction
from keyhole.boolean.families import disjunction as disjunction
from keyhole.boolean.families import majority as majority
from keyhole.boolean.families import parity as parity
from keyhole.boolean.families import random_junta as random_junta
from keyhole.boolean.families import read_function as read_function
from keyhole.boolean.families import threshold as threshold
from keyhole.boolean.formula import parse as parse
from keyhole.boolean.fourier import biased_spectrum as biased_spectrum
from keyhole.boolean.fourier import fourier_weight as fourier_weight
from keyhole.boolean.fourier import noise_stability as noise_stability
from keyhole.boolean.fourier import spectrum as spectrum
from keyhole.boolean.function import SparseFunction as SparseFunction
from keyhole.boolean.function import from_levels as from_levels
from keyhole.boolean.function import from_table as from_table
from keyhole.boolean.function import restrict as restrict
from keyhole.boolean.junta import Junta as Junta
