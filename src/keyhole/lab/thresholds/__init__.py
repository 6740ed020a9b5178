"""Thresholds: m*(T) estimated from successes and failures, and the next sample sizes to try."""
