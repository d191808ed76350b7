"""Text from a language model, one token at a time."""

import functools

import keras
import keras_hub
import numpy as np
from keras import ops


def sample_text(
    causal_lm, tokenizer, *, prompt, num_tokens, top_k, temperature, seed
):
    """Return a top-k sample of `num_tokens` tokens, the prompt included.

    Truncates a prompt that leaves no room. Weights and seed determine the text.
    """
    ids = tokenizer.encode_prompt(prompt)[: max(num_tokens - 1, 1)]
    sampler = keras_hub.samplers.TopKSampler(
        k=min(top_k, tokenizer.vocabulary_size),
        temperature=temperature,
        seed=seed,
    )
    drawn = stream(causal_lm, ids, sampler, num_tokens=num_tokens - len(ids))
    return tokenizer.decode([*ids, *drawn])


def stream(causal_lm, prompt_ids, sampler, *, num_tokens, stop_ids=()):
    """Yield the ids that follow a prompt as they are drawn.

    Keys and values of earlier tokens are cached. When all positions of the
    model are used, the cache is rebuilt from the later half of them, so a
    text may be longer than max_sequence_length.

    Args:
        prompt_ids: list of at least one id.
        sampler: KerasHub sampler: greedy, random, top-k or top-p.
        num_tokens: int. Maximum number of tokens to draw.
        stop_ids: ids after which drawing stops.
    """
    length = causal_lm.backbone.max_sequence_length
    read_one = _compiled(causal_lm)
    read_prompt = _without_gradients(causal_lm.call_with_cache)
    ids, used, cache = list(prompt_ids), length, None
    for _ in range(num_tokens):
        if used == length:
            # The whole prompt at first, then half of the full window.
            kept = length - 1 if cache is None else length // 2
            shape = causal_lm.backbone.cache_shape(1, length)
            cache = ops.zeros(shape, dtype=causal_lm.compute_dtype)
            context, used = ids[-kept:], 0
        else:
            context = ids[-1:]
        # Prompts have many lengths: only single tokens are worth compiling.
        read = read_one if len(context) == 1 else read_prompt
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


def gains_by_xla(causal_lm):
    """Return whether XLA makes generation with TensorFlow faster: on a CPU.

    Not in bfloat16 (docs/log.md), and not if the weights are on another device,
    which XLA's code for the CPU cannot read.
    """
    if keras.config.backend() != "tensorflow":
        return False
    weight = causal_lm.backbone.weights[0]
    is_on_cpu = weight.value.device.endswith("CPU:0")
    return is_on_cpu and causal_lm.compute_dtype == "float32"


def _compiled(causal_lm):
    """Return `call_with_cache`, compiled once for the current variables.

    LoRA and quantisation replace variables, after which it compiles again.
    """
    identity = identity_of(causal_lm)
    known = getattr(causal_lm, "_compiled_call_with_cache", None)
    if known is None or known[0] != identity:
        known = identity, _compile(causal_lm)
        # Not by plain assignment: Keras would track the tuple.
        object.__setattr__(causal_lm, "_compiled_call_with_cache", known)
    return known[1]


def identity_of(model):
    """Return a value that changes when LoRA or int8 replaces variables."""
    return hash(tuple((id(w), w.dtype) for w in model.weights))


def _compile(causal_lm):
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        jit = gains_by_xla(causal_lm) or None
        call = causal_lm.call_with_cache
        return tf.function(call, autograph=False, jit_compile=jit)
    if keras.config.backend() == "jax":
        import jax

        variables = causal_lm.variables

        @jax.jit
        def compute(values, *inputs):
            with keras.StatelessScope(state_mapping=zip(variables, values)):
                return causal_lm.call_with_cache(*inputs)

        return lambda *inputs: compute([v.value for v in variables], *inputs)
    read = _recorded(causal_lm.read)
    call = functools.partial(causal_lm.call_with_cache, read=read)
    return _without_gradients(call)


def _recorded(function):
    """Return a function of torch tensors that always have the same shapes.

    The first call records its operations, later calls repeat them: going
    through Keras's layers takes longer than the operations of a token.
    """
    from torch.fx.experimental import proxy_tensor

    graphs = []

    def call(*tensors):
        if not graphs:
            record = proxy_tensor.make_fx(lambda *x: function(*x))
            graphs.append(record(*tensors))
        return graphs[0](*tensors)

    return call


def _without_gradients(function):
    """Return the function; on torch, one that records no gradients."""
    if keras.config.backend() != "torch":
        return function
    import torch

    return torch.no_grad()(function)
