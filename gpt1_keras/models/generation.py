"""Paragraphs that a language model writes, to look at."""

import keras
import keras_hub
import numpy as np
from keras import ops

# -----------------------------------------------------------------------------
# Text that a language model writes, one token at a time.


def stream(causal_lm, prompt_ids, sampler, *, num_tokens, stop_ids=()):
    """Yield the ids that follow a prompt, as they are drawn.

    Keys and values of earlier tokens are kept. Where the positions of the
    model are used up, it goes on with the later half of them: a sliding
    window, so that text may be longer than the model's positions.

    Args:
        causal_lm: `GPT1CausalLM`.
        prompt_ids: list of ids, at least one.
        sampler: KerasHub sampler that chooses from the probabilities of one
            token: greedy, random, top-k, top-p.
        num_tokens: int. So many at most.
        stop_ids: ids after which nothing is drawn.
    """
    length = causal_lm.backbone.max_sequence_length
    read_one = _compiled(causal_lm)
    ids, used, cache = list(prompt_ids), length, None
    for _ in range(num_tokens):
        if used == length:
            # From the beginning, or with the later half of a full window.
            context = ids if cache is None else ids[-(length // 2) :]
            context = context[-(length - 1) :]
            shape = causal_lm.backbone.cache_shape(1, length)
            cache = ops.zeros(shape, dtype=causal_lm.compute_dtype)
            used = 0
        else:
            context = ids[-1:]
        # Prompts are of any length: only single tokens are worth compiling.
        read = read_one if len(context) == 1 else causal_lm.call_with_cache
        logits, _, cache = read(
            ops.convert_to_tensor(np.array([context], "int32")),
            cache,
            ops.convert_to_tensor(used, "int32"),
        )
        used += len(context)
        # [1, T, V] -> [1, V]
        probabilities = sampler.compute_probabilities(logits[:, -1])
        chosen = sampler.get_next_token(probabilities)
        chosen = int(ops.convert_to_numpy(chosen).reshape(-1)[0])
        ids.append(chosen)
        yield chosen
        if chosen in stop_ids:
            return


def _compiled(causal_lm):
    """Return `call_with_cache`, compiled; once, until the weights change.

    LoRA and quantisation put other weights in place of those compiled.
    """
    identity = [(id(weight), weight.dtype) for weight in causal_lm.weights]
    known = getattr(causal_lm, "_compiled_call_with_cache", None)
    if known is None or known[0] != identity:
        compile_ = _COMPILERS.get(keras.config.backend(), lambda model: None)
        function = compile_(causal_lm) or causal_lm.call_with_cache
        known = identity, function
        # Past Keras, which would track the tuple as a part of the model.
        object.__setattr__(causal_lm, "_compiled_call_with_cache", known)
    return known[1]


def _compile_for_tensorflow(causal_lm):
    import tensorflow as tf

    return tf.function(causal_lm.call_with_cache)


def _compile_for_jax(causal_lm):
    import jax

    variables = causal_lm.variables

    @jax.jit
    def compute(values, *inputs):
        with keras.StatelessScope(state_mapping=list(zip(variables, values))):
            return causal_lm.call_with_cache(*inputs)

    return lambda *inputs: compute([v.value for v in variables], *inputs)


_COMPILERS = {
    "tensorflow": _compile_for_tensorflow,
    "jax": _compile_for_jax,
}


# -----------------------------------------------------------------------------
# Paragraphs that a language model writes, to look at.


class Sampler:
    """Writes paragraphs with one compiled function, kept between calls.

    Args:
        causal_lm: `keras_hub.models.CausalLM`; it is compiled anew.
        tokenizer: `text.tokenizer.Tokenizer`.
        prompt: str. How every paragraph begins.
        num_tokens: int. Length with the prompt, at most the model's.
        top_k: int. Draw among the likeliest tokens only.
        temperature: float.
    """

    def __init__(
        self, causal_lm, tokenizer, *, prompt, num_tokens, top_k, temperature
    ):
        self.causal_lm = causal_lm
        self.tokenizer = tokenizer
        self.prompt_ids = tokenizer.encode(prompt)[: num_tokens - 1]
        self.num_tokens = num_tokens
        self.sampler = keras_hub.samplers.TopKSampler(
            k=min(top_k, tokenizer.vocabulary_size),
            temperature=temperature,
            seed=0,
        )
        causal_lm.compile(
            sampler=self.sampler, optimizer=None, loss=None, jit_compile=False
        )

    def __call__(self, seed):
        """Return a paragraph, the same for the same weights and seed."""
        state = self.sampler.seed_generator.state
        state.assign(np.array([seed, 0], dtype=state.dtype))
        count = len(self.prompt_ids)
        token_ids = np.zeros((1, self.num_tokens), "int32")
        token_ids[0, :count] = self.prompt_ids
        padding_mask = np.zeros((1, self.num_tokens), "int32")
        padding_mask[0, :count] = 1
        preprocessor, self.causal_lm.preprocessor = (
            self.causal_lm.preprocessor,
            None,
        )
        try:
            output = self.causal_lm.generate(
                {"token_ids": token_ids, "padding_mask": padding_mask},
                stop_token_ids=None,
            )
        finally:
            self.causal_lm.preprocessor = preprocessor
        ids = keras.ops.convert_to_numpy(output["token_ids"])[0]
        return self.tokenizer.decode([int(i) for i in ids])
