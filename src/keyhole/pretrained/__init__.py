"""Readers of weights that were stored or trained elsewhere: one architecture per file."""

from keyhole.pretrained.keyhole_tables import is_tabulated as is_tabulated
from keyhole.pretrained.keyhole_tables import load_tabulated as load_tabulated
from keyhole.pretrained.keyhole_tables import save_tabulated as save_tabulated
from keyhole.pretrained.torch_encoder import read_foreign as read_foreign
