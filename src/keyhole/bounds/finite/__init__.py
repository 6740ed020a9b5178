"""Finite classes: Occam's bound, identification, binomial tails, information floors, PAC-Bayes."""

from keyhole.bounds.finite.binomial import clopper_pearson as clopper_pearson
from keyhole.bounds.finite.binomial import held_out_ceiling as held_out_ceiling
from keyhole.bounds.finite.binomial import log_lower_tail as log_lower_tail
from keyhole.bounds.finite.floor import first_moment_size as first_moment_size
from keyhole.bounds.finite.floor import floor_slope as floor_slope
from keyhole.bounds.finite.floor import information_floor as information_floor
from keyhole.bounds.finite.identification import EXACT_UP_TO as EXACT_UP_TO
from keyhole.bounds.finite.identification import identification_size as identification_size
from keyhole.bounds.finite.necessity import logit_range_floor as logit_range_floor
from keyhole.bounds.finite.occam import certificate_nats as certificate_nats
from keyhole.bounds.finite.occam import exact_error as exact_error
from keyhole.bounds.finite.occam import juntas as juntas
from keyhole.bounds.finite.occam import monotone_conjunctions as monotone_conjunctions
from keyhole.bounds.finite.occam import samples_for_error as samples_for_error
from keyhole.bounds.finite.pac_bayes import best_catoni as best_catoni
from keyhole.bounds.finite.pac_bayes import description_gap as description_gap
