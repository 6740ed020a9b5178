"""Records and figures in, text, HTML, SVG and PNG out; nothing is computed here."""

from keyhole.figure import Figure, draw_with
from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)


def _drawn(figure: Figure) -> str:
    """Draw a figure; the packages for it are imported with the first one."""
    from keyhole.show.chart import to_svg  # noqa: PLC0415

    return to_svg(figure)


draw_with(_drawn)
