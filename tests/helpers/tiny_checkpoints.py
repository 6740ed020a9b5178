"""Tiny checkpoints of each family, written by their names alone: random numbers of the right sides."""

import numpy as np
import pytest

D, K, HEADS, UNITS, SYMBOLS, PLACES = 12, 4, 3, 20, 17, 16


def bert(layers=2, seed=0):
    """BERT's names, with the prefix of a model that has a head, and a pooler."""
    rng = np.random.default_rng(seed)
    arrays = {
        "bert.embeddings.word_embeddings.weight": (SYMBOLS, D),
        "bert.embeddings.position_embeddings.weight": (PLACES, D),
        "bert.embeddings.token_type_embeddings.weight": (2, D),
        "bert.embeddings.LayerNorm.gamma": (D,),
        "bert.embeddings.LayerNorm.beta": (D,),
        "bert.pooler.dense.weight": (D, D),
        "cls.predictions.bias": (SYMBOLS,),
    }
    for layer in range(layers):
        here = f"bert.encoder.layer.{layer}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            arrays |= {f"{here}.attention.{name}.weight": (D, D), f"{here}.attention.{name}.bias": (D,)}
        arrays |= {f"{here}.intermediate.dense.weight": (UNITS, D), f"{here}.intermediate.dense.bias": (UNITS,)}
        arrays |= {f"{here}.output.dense.weight": (D, UNITS), f"{here}.output.dense.bias": (D,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            arrays |= {f"{here}.{name}.weight": (D,), f"{here}.{name}.bias": (D,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in arrays.items()}, {
        "model_type": "bert",
        "num_attention_heads": HEADS,
        "num_hidden_layers": layers,
    }


def gpt2(layers=2, seed=0):
    """GPT-2's names: queries, keys and values fused, matrices from the right, no unembedding of its own."""
    rng = np.random.default_rng(seed)
    arrays = {"wte.weight": (SYMBOLS, D), "wpe.weight": (PLACES, D), "ln_f.weight": (D,), "ln_f.bias": (D,)}
    for layer in range(layers):
        here = f"h.{layer}"
        arrays |= {f"{here}.attn.c_attn.weight": (D, 3 * D), f"{here}.attn.c_attn.bias": (3 * D,)}
        arrays |= {f"{here}.attn.c_proj.weight": (D, D), f"{here}.attn.c_proj.bias": (D,)}
        arrays |= {f"{here}.mlp.c_fc.weight": (D, UNITS), f"{here}.mlp.c_fc.bias": (UNITS,)}
        arrays |= {f"{here}.mlp.c_proj.weight": (UNITS, D), f"{here}.mlp.c_proj.bias": (D,)}
        for name in ("ln_1", "ln_2"):
            arrays |= {f"{here}.{name}.weight": (D,), f"{here}.{name}.bias": (D,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in arrays.items()}, {
        "model_type": "gpt2",
        "n_head": HEADS,
        "n_layer": layers,
    }


def llama(layers=2, seed=0, heads=4, groups=2):
    """Llama's names: keys and values for groups of heads."""
    rng = np.random.default_rng(seed)
    arrays = {"model.embed_tokens.weight": (SYMBOLS, D), "model.norm.weight": (D,), "lm_head.weight": (SYMBOLS, D)}
    for layer in range(layers):
        here = f"model.layers.{layer}"
        arrays |= {f"{here}.self_attn.q_proj.weight": (heads * K, D), f"{here}.self_attn.o_proj.weight": (D, heads * K)}
        arrays |= {f"{here}.self_attn.{name}_proj.weight": (groups * K, D) for name in "kv"}
        arrays |= {f"{here}.mlp.{name}_proj.weight": (UNITS, D) for name in ("up", "gate")}
        arrays |= {f"{here}.mlp.down_proj.weight": (D, UNITS)}
        arrays |= {f"{here}.{name}.weight": (D,) for name in ("input_layernorm", "post_attention_layernorm")}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in arrays.items()}, {
        "model_type": "llama",
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "num_hidden_layers": layers,
        "rope_theta": 500000.0,
    }


def encoder(layers=2, seed=0):
    """torch.nn.TransformerEncoder's names, packed."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for layer in range(layers):
        here = f"encoder.layers.{layer}"
        arrays |= {f"{here}.self_attn.in_proj_weight": (3 * D, D), f"{here}.self_attn.in_proj_bias": (3 * D,)}
        arrays |= {f"{here}.self_attn.out_proj.weight": (D, D), f"{here}.self_attn.out_proj.bias": (D,)}
        arrays |= {f"{here}.linear1.weight": (UNITS, D), f"{here}.linear2.weight": (D, UNITS)}
        arrays |= {f"{here}.norm1.weight": (D,), f"{here}.norm2.weight": (D,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in arrays.items()}, {"nhead": HEADS}


def vit(seed=0, patches=4, side=3, classes=5):
    """One layer with to_q, to_k and to_v that reads images at [CLS], its norms centring rows only."""
    rng = np.random.default_rng(seed)
    here = "transformer.layers.0"
    arrays = {
        "to_patch_embedding.1.weight": (D, side * side),
        "to_patch_embedding.1.bias": (D,),
        "cls_token": (1, 1, D),
        "pos_embedding": (1, patches + 1, D),
        f"{here}.0.fn.fn.to_out.0.weight": (D, D),
        f"{here}.0.fn.fn.to_out.0.bias": (D,),
        f"{here}.1.fn.fn.net.0.weight": (UNITS, D),
        f"{here}.1.fn.fn.net.0.bias": (UNITS,),
        f"{here}.1.fn.fn.net.3.weight": (D, UNITS),
        f"{here}.1.fn.fn.net.3.bias": (D,),
        "mlp_head.1.weight": (classes, D),
        "mlp_head.1.bias": (classes,),
    }
    arrays |= {f"{here}.0.fn.fn.to_{name}.weight": (D, D) for name in "qkv"}
    for norm in (f"{here}.0.fn.norm", f"{here}.1.fn.norm", "mlp_head.0"):
        arrays |= {f"{norm}.weight": (D,), f"{norm}.bias": (D,)}
    config = {"num_attention_heads": HEADS, "norm": "centred", "hidden_act": "relu"}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in arrays.items()}, config


def heads_of(seed=0, heads=2, width=6, k=3):
    """Arrays of one layer under TransformerLens' names."""
    rng = np.random.default_rng(seed)
    shapes = dict.fromkeys("QKV", (heads, width, k)) | {"O": (heads, k, width)}
    return {f"blocks.0.attn.W_{name}": rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def save_tokenizer(folder, words):
    """A tokenizer of whole words in a folder; the first is unknown, the next two stand before and after a text."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(words)}, words[0])
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{words[1]} $A {words[2]}", special_tokens=[(words[1], 1), (words[2], 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
