"""Tables of one's own: rows with a target column, how accuracy grows with the rows learned from, and what it takes."""

from keyhole.lab.tables.curve import CurvePoint as CurvePoint
from keyhole.lab.tables.curve import LearningCurve as LearningCurve
from keyhole.lab.tables.curve import curve_sizes as curve_sizes
from keyhole.lab.tables.curve import learning_curve as learning_curve
from keyhole.lab.tables.figures import curves_figure as curves_figure
from keyhole.lab.tables.table import Table as Table
from keyhole.lab.tables.table import append_irrelevant as append_irrelevant
from keyhole.lab.tables.table import make_table as make_table
from keyhole.lab.tables.table import read_table as read_table
