"""Sweeps: runs, thresholds m*(T), the laws of their growth, and plans of several."""
