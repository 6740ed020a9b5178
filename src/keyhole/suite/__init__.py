"""Certified models with an answer key, and scores for attribution methods."""

from keyhole.suite.attribution import AttributionScore as AttributionScore
from keyhole.suite.attribution import score_attribution as score_attribution
from keyhole.suite.key import read_attributions as read_attributions
from keyhole.suite.key import read_key as read_key
from keyhole.suite.members import KEY as KEY
from keyhole.suite.members import Member as Member
from keyhole.suite.members import make_members as make_members
