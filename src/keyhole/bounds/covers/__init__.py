"""Covering numbers: linear classes, the calculus that composes them, heads, depth, and the entropy integral."""

from keyhole.bounds.covers.deep import deep_cover as deep_cover
from keyhole.bounds.covers.heads import scalar_model_cover as scalar_model_cover
