"""A residual block as TransformerLens has it: a configuration and a state, so that its hooks work at once.

Attention is bidirectional and [CLS] is the last token; the output is `model(tokens)[:, -1, 0]`, and the attention of
[CLS] is the last row of `blocks.0.attn.hook_pattern`. Version 3 has HookedTransformer for it, version 4
TransformerBridge.
"""

import warnings
from typing import Any

import numpy as np

from keyhole.compiler.export.residual import ResidualBlock
from keyhole.errors import MissingError, adding


def lens_config(block: ResidualBlock) -> dict[str, Any]:
    """Return the configuration for HookedTransformerConfig.from_dict; scores are divided by √d_head, as is usual."""
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


def to_lens(block: ResidualBlock) -> Any:
    """The block in double precision; feed it `token_ids(block, bits)`."""
    return boot(lens_config(block), lens_state(block))


def boot(settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """A model of TransformerLens in double precision, from its settings and the names of a HookedTransformer.

    It is a HookedTransformer with TransformerLens 3, and a TransformerBridge with version 4, which has no other.
    """
    try:
        import transformer_lens  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingError(
            f"A model of TransformerLens was asked for, and TransformerLens is not installed; run: {adding('lens')}"
        ) from error
    try:
        kinds = transformer_lens.HookedTransformer, transformer_lens.HookedTransformerConfig
    except (AttributeError, ImportError):  # version 4 raises an error at its name
        from transformer_lens.utilities.tl_checkpoint_conversion import convert_tl_checkpoint  # noqa: PLC0415

        config = transformer_lens.TransformerBridgeConfig.from_dict(settings)
        model = transformer_lens.TransformerBridge.boot_native(config).double()
        like = next(iter(model.parameters()))
        state = convert_tl_checkpoint(_tensors(arrays, like), config)  # its own conversion to its new names
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it announces its own removal in version 4
            model = kinds[0](kinds[1].from_dict(settings)).double()
        like = model.embed.W_E
        # causal masks are buffers of the model itself; every parameter is ours
        masks = {name: tensor for name, tensor in model.state_dict().items() if name.endswith((".mask", ".IGNORE"))}
        state = {**masks, **_tensors(arrays, like)}
    model.cfg.dtype = like.dtype  # so the configuration stays true
    model.load_state_dict(state)
    return model.eval()


def _tensors(arrays: dict[str, np.ndarray], like: Any) -> dict[str, Any]:
    """The state as tensors of the same kind as another."""
    return {name: like.new_tensor(np.ascontiguousarray(array)) for name, array in arrays.items()}
