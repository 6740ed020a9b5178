"""Claims about how much data a bounded-norm head needs."""
