from keyhole.prover.sample.repeats import repeats_of as repeats_of
from keyhole.prover.sample.sample_bound import FRESH as FRESH
from keyhole.prover.sample.sample_bound import Judgement as Judgement
from keyhole.prover.sample.sample_bound import occam_bound as occam_bound
