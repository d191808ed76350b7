"""Tokens per second of greedy generation, one text at a time.

`cached` is KerasHub's compiled `generate` with our cache; `streamed` yields
one token at a time, like the run `generate`; `recomputed` reads the whole text
for each token (not on JAX, which would compile for each length); `transformers`
is its own `generate`, on the same device, which has no cache for this network.
Weights, prompt and text are the same, except those of `keras_hub`, KerasHub's
GPT-2 of the same size with its own cache.
"""

import pathlib
import tempfile

import keras
import numpy as np

from tools.benchmarks import contest
from tools.benchmarks import networks

_PROMPT_TOKENS = 16


def measure(*, sizes, rounds, num_tokens=256):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int, how often each contender writes a text.
        num_tokens: int, new tokens of a text, at most the model's positions.
    """
    keras.config.set_dtype_policy("float32")
    room = sizes["max_sequence_length"] - _PROMPT_TOKENS
    num_tokens = min(num_tokens, room)
    model = networks.causal_lm(**sizes)
    prompt = networks.token_ids(
        _PROMPT_TOKENS, vocabulary_size=sizes["vocabulary_size"]
    ).tolist()
    with tempfile.TemporaryDirectory() as directory:
        peer = networks.transformers_lm(model, pathlib.Path(directory))
    contenders = {
        "cached": _cached(model, prompt, num_tokens),
        "streamed": _streamed(model, prompt, num_tokens),
        "transformers": peer and _transformers(peer, prompt, num_tokens),
        "keras_hub": _cached(
            networks.keras_hub_lm(**sizes), prompt, num_tokens
        ),
    }
    if keras.config.backend() != "jax":
        contenders["recomputed"] = _recomputed(model, prompt, num_tokens)
    found, texts = contest.run(
        contenders,
        rounds=rounds,
        work=num_tokens,
        peer_of="cached",
        apart=["keras_hub"],
    )
    del texts["keras_hub"]
    return {
        "unit": "tokens/s",
        "new_tokens": num_tokens,
        "prompt_tokens": _PROMPT_TOKENS,
        **found,
        "texts_equal": all(text == texts["cached"] for text in texts.values()),
    }


def _cached(model, prompt, num_tokens):
    model.compile(sampler="greedy", optimizer=None, loss=None)
    model.preprocessor = None
    inputs = {
        "token_ids": np.array([[*prompt, *[0] * num_tokens]], "int32"),
        "padding_mask": np.array(
            [[1] * len(prompt) + [0] * num_tokens], "int32"
        ),
    }

    def write():
        output = model.generate(inputs, stop_token_ids=None)
        return np.asarray(output["token_ids"])[0].tolist()

    return write


def _streamed(model, prompt, num_tokens):
    import keras_hub

    from gpt1_keras.models import generation

    sampler = keras_hub.samplers.GreedySampler()

    def write():
        drawn = generation.stream(model, prompt, sampler, num_tokens=num_tokens)
        return [*prompt, *drawn]

    return write


def _recomputed(model, prompt, num_tokens):
    from keras import ops

    def write():
        ids = list(prompt)
        for _ in range(num_tokens):
            token_ids = np.array([ids], "int32")
            logits = model(
                {
                    "token_ids": token_ids,
                    "padding_mask": np.ones_like(token_ids),
                }
            )
            ids.append(int(ops.argmax(logits[0, -1])))
        return ids

    return write


def _transformers(peer, prompt, num_tokens):
    import torch

    device = networks.torch_device()
    peer, inputs = peer.to(device), torch.tensor([prompt], device=device)

    def write():
        with torch.no_grad():
            output = peer.generate(
                inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=num_tokens,
                do_sample=False,
                pad_token_id=0,
            )
        return output[0].tolist()

    return write
