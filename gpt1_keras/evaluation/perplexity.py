"""Perplexity of held-out text."""

import math

import numpy as np

METRICS = ("loss", "perplexity", "word_perplexity", "tokens", "words")


def perplexity(learner, batches, *, num_words, callbacks=()):
    """Score every weighted token once.

    Args:
        learner: model whose `predict` returns `log_probability` and `weight`
            `[B * C]` (`training.learner.Learner`).
        batches: dataset of batches, for `predict`.
        num_words: number of words that the scored tokens spell.
        callbacks: for `predict`.

    Returns:
        dict of `loss` (nats per token, the mean over all tokens),
        `perplexity` per token, `word_perplexity` per word (whitespace
        separated, comparable between tokenizers), and how many `tokens` and
        `words` were scored.
    """
    scores = learner.predict(batches, verbose=0, callbacks=list(callbacks))
    # Sums of millions of terms: in float64.
    log_probability = np.sum(scores["log_probability"], dtype=np.float64)
    tokens = np.sum(scores["weight"], dtype=np.float64)
    loss = float(-log_probability / tokens)
    return {
        "loss": loss,
        "perplexity": _exp(loss),
        "word_perplexity": _exp(float(-log_probability / num_words)),
        "tokens": int(round(float(tokens))),
        "words": int(round(num_words)),
    }


def _exp(value):
    return math.exp(value) if value < 700 else math.inf
