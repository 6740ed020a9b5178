"""Exchangeability: tests of it, its consequences, and sufficiency of the posterior."""
