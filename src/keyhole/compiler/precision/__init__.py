"""Number formats: rounding bounds, and runs rounded at every step."""
