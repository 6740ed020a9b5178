"""Pretraining on latent models: tasks with their exact Bayes risk, learners, and what they are good for downstream.

A task here is a latent model and a question; it makes runs of the lab (`keyhole.lab.runs`), which are kept in the same
store as all others. Learners with few parameters are fitted by L-BFGS from a random start, without a framework;
networks are trained by `keyhole.lab.learners.training`, in worker processes.
"""

from keyhole.pretraining.downstream import Downstream as Downstream
from keyhole.pretraining.downstream import transfer as transfer
from keyhole.pretraining.heads import LatentHead as LatentHead
from keyhole.pretraining.heads import PrototypeHead as PrototypeHead
from keyhole.pretraining.heads import SinkHead as SinkHead
from keyhole.pretraining.kernel_recovery import KernelHead as KernelHead
from keyhole.pretraining.kernel_recovery import KernelRecovery as KernelRecovery
from keyhole.pretraining.network_tasks import NetworkModel as NetworkModel
from keyhole.pretraining.network_tasks import NetworkTask as NetworkTask
from keyhole.pretraining.split import RiskParts as RiskParts
from keyhole.pretraining.split import RiskSplit as RiskSplit
from keyhole.pretraining.split import split_risk as split_risk
from keyhole.pretraining.tasks import LeastSquares as LeastSquares
from keyhole.pretraining.tasks import MaskedLetters as MaskedLetters
from keyhole.pretraining.tasks import PooledLabels as PooledLabels
from keyhole.pretraining.tasks import SinkRecovery as SinkRecovery
from keyhole.pretraining.tasks import TransferTask as TransferTask
