"""What a labelled sample allows to promise: error bounds, functions that fit it, tail bounds."""

from keyhole.certifier.sample.disagreement import FRESH as FRESH
from keyhole.certifier.sample.repeats import repeats_of as repeats_of
from keyhole.certifier.sample.sample_bound import Judgement as Judgement
from keyhole.certifier.sample.sample_bound import occam_bound as occam_bound
