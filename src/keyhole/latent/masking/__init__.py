"""Masked prediction with its exact risk, and the condition number of a downstream task."""

from keyhole.latent.masking.condition import ConditionNumbers as ConditionNumbers
from keyhole.latent.masking.condition import block_law as block_law
from keyhole.latent.masking.condition import canonical_correlations as canonical_correlations
from keyhole.latent.masking.condition import condition_numbers as condition_numbers
from keyhole.latent.masking.condition import estimate_least_correlation as estimate_least_correlation
from keyhole.latent.masking.condition import linear_head as linear_head
from keyhole.latent.masking.condition import log_loss_bound as log_loss_bound
from keyhole.latent.masking.condition import require_downstream as require_downstream
from keyhole.latent.masking.condition import transfer_bound as transfer_bound
from keyhole.latent.masking.masked import MaskedTable as MaskedTable
from keyhole.latent.masking.masked import PooledSquares as PooledSquares
from keyhole.latent.masking.masked import draw_table as draw_table
from keyhole.latent.masking.masked import excess_divergence as excess_divergence
from keyhole.latent.masking.masked import fisher_spectrum as fisher_spectrum
from keyhole.latent.masking.masked import masked_loss as masked_loss
from keyhole.latent.masking.masked import parameters_of as parameters_of
from keyhole.latent.masking.masked import pooled_excess as pooled_excess
from keyhole.latent.masking.masked import pooled_risk as pooled_risk
from keyhole.latent.masking.masked import population_table as population_table
from keyhole.latent.masking.masked import require_few_counts as require_few_counts
from keyhole.latent.masking.masked import require_few_pairs as require_few_pairs
from keyhole.latent.masking.masked import require_mask as require_mask
from keyhole.latent.masking.masked import unpack as unpack
from keyhole.latent.masking.sinks import sink_loss as sink_loss
from keyhole.latent.masking.sinks import sink_standard_error as sink_standard_error
