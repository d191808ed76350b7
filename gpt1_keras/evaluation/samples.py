"""Paragraphs that a language model writes, to look at."""

import keras
import keras_hub
import numpy as np


class Sampler:
    """Writes paragraphs with one compiled function, kept between calls.

    Args:
        causal_lm: `keras_hub.models.CausalLM`; it is compiled anew.
        tokenizer: `gpt1_keras.text.tokenizer.Tokenizer`.
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
