"""Readers of weights that were stored or trained elsewhere: one architecture per file, one form for all of them."""

from keyhole.pretrained.architectures import Architecture as Architecture
from keyhole.pretrained.architectures import register_architecture as register_architecture
from keyhole.pretrained.checkpoint import AttentionHead as AttentionHead
from keyhole.pretrained.checkpoint import Checkpoint as Checkpoint
from keyhole.pretrained.checkpoint import EmbeddingPart as EmbeddingPart
from keyhole.pretrained.checkpoint import FeedForwardPart as FeedForwardPart
from keyhole.pretrained.checkpoint import Layer as Layer
from keyhole.pretrained.checkpoint import PositionCode as PositionCode
from keyhole.pretrained.checkpoint import RowNorm as RowNorm
from keyhole.pretrained.keyhole_tables import is_tabulated as is_tabulated
from keyhole.pretrained.keyhole_tables import load_tabulated as load_tabulated
from keyhole.pretrained.keyhole_tables import save_tabulated as save_tabulated
from keyhole.pretrained.loading import load_checkpoint as load_checkpoint
from keyhole.pretrained.packages import PACKAGED as PACKAGED
from keyhole.pretrained.torch_encoder import read_foreign as read_foreign
