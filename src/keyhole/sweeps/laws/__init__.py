"""Growth laws: how m* rises with the context length, fitted, compared and drawn."""

from keyhole.sweeps.laws.decision import RULE as RULE
from keyhole.sweeps.laws.decision import FittedLaw as FittedLaw
from keyhole.sweeps.laws.decision import LawVerdict as LawVerdict
from keyhole.sweeps.laws.decision import comparable as comparable
from keyhole.sweeps.laws.decision import compare_laws as compare_laws
from keyhole.sweeps.laws.decision import decide as decide
from keyhole.sweeps.laws.decision import naming_rates as naming_rates
from keyhole.sweeps.laws.decision import slope_beside_floor as slope_beside_floor
from keyhole.sweeps.laws.figures import course_figure as course_figure
from keyhole.sweeps.laws.figures import learners_figure as learners_figure
from keyhole.sweeps.laws.figures import steps_figure as steps_figure
from keyhole.sweeps.laws.figures import success_figure as success_figure
from keyhole.sweeps.laws.fit import Points as Points
from keyhole.sweeps.laws.fit import fit_law as fit_law
from keyhole.sweeps.laws.fit import read_points as read_points
from keyhole.sweeps.laws.fit import task_floor as task_floor
from keyhole.sweeps.laws.fit import trivial_accuracy as trivial_accuracy
from keyhole.sweeps.laws.growth_laws import LAWS as LAWS
from keyhole.sweeps.laws.growth_laws import AffineLaw as AffineLaw
from keyhole.sweeps.laws.growth_laws import Array as Array
from keyhole.sweeps.laws.growth_laws import Ends as Ends
from keyhole.sweeps.laws.growth_laws import GrowthLaw as GrowthLaw
from keyhole.sweeps.laws.growth_laws import read_laws as read_laws
