"""Norms and sample sizes in, guarantees out: pure numbers, each with the derivation that gives it."""

from keyhole.bounds.floor import information_floor as information_floor
