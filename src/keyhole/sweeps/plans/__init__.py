"""Plans: sweeps with every setting spelled out, as files that repeat them, and the rows of their finished runs."""

from keyhole.sweeps.plans.plan import Plan as Plan
from keyhole.sweeps.plans.plan import Prediction as Prediction
from keyhole.sweeps.plans.plan import predict_longest as predict_longest
from keyhole.sweeps.plans.plan import read_plan as read_plan
from keyhole.sweeps.plans.plan import write_plan as write_plan
from keyhole.sweeps.plans.rows import export_rows as export_rows
from keyhole.sweeps.plans.rows import import_rows as import_rows
from keyhole.sweeps.plans.rows import rows_path as rows_path
