"""A residual block as TransformerLens has it: a configuration and a state, so that its hooks work at once.

Attention is bidirectional and [CLS] is the last token; the output is `model(tokens)[:, -1, 0]`, and the attention of
[CLS] is the last row of `blocks.0.attn.hook_pattern`. HookedTransformer left TransformerLens with its version 4.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from keyhole.compiler.export.residual import ResidualBlock
from keyhole.errors import MissingError

if TYPE_CHECKING:
    from transformer_lens import HookedTransformer


def lens_config(block: ResidualBlock) -> dict[str, Any]:
    """What HookedTransformerConfig.from_dict takes; scores are divided by √d_head, as is usual."""
    heads, d, d_head = block.query.shape
    return {
        "n_layers": 1,
        "d_model": d,
        "n_ctx": block.context + 1,
        "d_head": d_head,
        "n_heads": heads,
        "d_mlp": len(block.units),
        "d_vocab": len(block.tokens),
        "d_vocab_out": 1,
        "act_fn": "relu",
        "attn_only": False,
        "normalization_type": None,
        "attention_dir": "bidirectional",
        "positional_embedding_type": "standard",
        "default_prepend_bos": False,
        "init_weights": False,
        "device": "cpu",
    }


def lens_state(block: ResidualBlock) -> dict[str, np.ndarray]:
    """Every parameter of HookedTransformer by its name; biases that a compiled model does not use are 0."""
    heads, d, d_head = block.query.shape
    return {
        "embed.W_E": block.embed,
        "pos_embed.W_pos": block.position,
        "blocks.0.attn.W_Q": block.query,
        "blocks.0.attn.W_K": block.key,
        "blocks.0.attn.W_V": block.value,
        "blocks.0.attn.W_O": block.output,
        "blocks.0.attn.b_Q": np.zeros((heads, d_head)),
        "blocks.0.attn.b_K": np.zeros((heads, d_head)),
        "blocks.0.attn.b_V": np.zeros((heads, d_head)),
        "blocks.0.attn.b_O": np.zeros(d),
        "blocks.0.mlp.W_in": block.inner,
        "blocks.0.mlp.b_in": block.inner_bias,
        "blocks.0.mlp.W_out": block.outer,
        "blocks.0.mlp.b_out": np.zeros(d),
        "unembed.W_U": block.unembed,
        "unembed.b_U": np.zeros(1),
    }


def to_lens(block: ResidualBlock) -> "HookedTransformer":
    """The block as a HookedTransformer in double precision; feed it `token_ids(block, bits)`."""
    try:
        from transformer_lens import HookedTransformer, HookedTransformerConfig  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingError(
            "A HookedTransformer was asked for, but TransformerLens 3 is not installed; "
            "run: pip install 'keyhole[lens]'"
        ) from error

    with warnings.catch_warnings():
        # it announces its own removal in version 4, which the extra's pin already heeds
        warnings.simplefilter("ignore", DeprecationWarning)
        model = HookedTransformer(HookedTransformerConfig.from_dict(lens_config(block))).double()
    like = model.embed.W_E
    model.cfg.dtype = like.dtype  # what the configuration says of the model stays true
    state = {name: like.new_tensor(np.ascontiguousarray(array)) for name, array in lens_state(block).items()}
    # causal masks are buffers of the model itself; every parameter is ours
    masks = {name: tensor for name, tensor in model.state_dict().items() if name.endswith((".mask", ".IGNORE"))}
    model.load_state_dict({**masks, **state})
    return model.eval()
