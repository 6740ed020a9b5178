"""What a labelled sample allows to promise: error bounds, functions that fit it, tail bounds."""

from keyhole.certifier.sample.disagreement import FRESH as FRESH
