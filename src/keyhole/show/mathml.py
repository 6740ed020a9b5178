"""Formulas as MathML, which browsers draw without any script."""


def to_mathml(formula: str) -> str:
    """A LaTeX formula as a block of MathML."""
    from latex2mathml.converter import convert  # noqa: PLC0415  (imported for a page only)

    return str(convert(formula, display="block"))
