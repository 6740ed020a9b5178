"""Fields that transformers writes into every configuration, and that change nothing of the function of a model."""

from collections.abc import Mapping
from typing import Any

from keyhole.checkpoints.architectures.architecture import Fields

FIELDS = Fields(  # as most configurations of transformers have them
    layers=("num_hidden_layers",),
    heads=("num_attention_heads",),
    norms=(),
    epsilon=("layer_norm_eps",),
    activations=("hidden_act",),
    formats=("dtype", "torch_dtype"),  # transformers rounds weights to the former, where it is there
)
MASK = "the causal mask"
TASK_HEAD = "a head for one task, after the last layer"

TRAINING = ("use_cache", "return_dict", "output_hidden_states", "output_attentions", "chunk_size_feed_forward")
ANSWERS = ("id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task", "loss_type")
TOKENS = ("tokenizer_class", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id")
NAMES = ("architectures", "model_type", "transformers_version", "_name_or_path", "_commit_hash")
OLDER = (
    "torchscript",
    "tf_legacy_loss",
    "use_bfloat16",
    "is_decoder",
    "cross_attention_hidden_size",
    "tie_encoder_decoder",
    "_attn_implementation_autoset",
    "output_past",
    "xla_device",
)
GENERATION = (
    "task_specific_params",
    "max_length",
    "min_length",
    "do_sample",
    "early_stopping",
    "num_beams",
    "num_beam_groups",
    "diversity_penalty",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "repetition_penalty",
    "length_penalty",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "bad_words_ids",
    "num_return_sequences",
    "output_scores",
    "return_dict_in_generate",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "remove_invalid_values",
    "exponential_decay_length_penalty",
    "suppress_tokens",
    "begin_suppress_tokens",
    "prefix",
)
HARMLESS: Mapping[str, tuple[Any, ...] | None] = {  # a field → the values at which it is so (None: all)
    **dict.fromkeys((*TRAINING, *ANSWERS, *TOKENS, *NAMES, *OLDER, *GENERATION)),
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "pruned_heads": ({}, None),
    "attn_implementation": (None, "eager", "sdpa"),
}
