"""Text that a language model writes, one token at a time."""

import numpy as np
from keras import ops


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
        logits, _, cache = causal_lm.call_with_cache(
            ops.convert_to_tensor(np.array([context], "int32")), cache, used
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
