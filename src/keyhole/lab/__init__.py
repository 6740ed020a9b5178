"""The sample-complexity laboratory: tasks, learners, training, thresholds and the laws of their growth."""

from keyhole.lab.observation import PROBE as PROBE
from keyhole.lab.task import Examples as Examples
from keyhole.lab.task import Instance as Instance
from keyhole.lab.task import ProblemSize as ProblemSize
from keyhole.lab.task import SparseTask as SparseTask
from keyhole.lab.task import Task as Task
