"""Rigorous double-precision arithmetic: every result encloses the exact one."""
