"""Growth laws: how m* rises with the context length, fitted, compared and drawn."""

from keyhole.lab.laws.figures import course_figure as course_figure
from keyhole.lab.laws.figures import grokking_figure as grokking_figure
from keyhole.lab.laws.figures import learners_figure as learners_figure
from keyhole.lab.laws.figures import steps_figure as steps_figure
from keyhole.lab.laws.figures import success_figure as success_figure
from keyhole.lab.laws.floors import task_floor as task_floor
from keyhole.lab.laws.floors import trivial_accuracy as trivial_accuracy
from keyhole.lab.laws.growth_laws import LAWS as LAWS
from keyhole.lab.laws.growth_laws import AffineLaw as AffineLaw
from keyhole.lab.laws.growth_laws import Array as Array
from keyhole.lab.laws.growth_laws import Ends as Ends
from keyhole.lab.laws.growth_laws import GrowthLaw as GrowthLaw
from keyhole.lab.laws.growth_laws import read_laws as read_laws
from keyhole.lab.laws.growth_laws import register_law as register_law
from keyhole.lab.laws.growth_laws import registered_laws as registered_laws
from keyhole.lab.laws.selection import comparable as comparable
from keyhole.lab.laws.selection import compare_laws as compare_laws
from keyhole.lab.laws.verdict import LawVerdict as LawVerdict
from keyhole.lab.laws.verdict import slope_beside_floor as slope_beside_floor
