"""Perplexity of any text, and of held-out books during and after training."""

import functools

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import results
from gpt1_keras.data import batches
from gpt1_keras.evaluation import scoring


def score(
    learner,
    split,
    *,
    sequence_length,
    stride,
    batch_size,
    tokens,
    description="held-out perplexity",
):
    """Score every token but the first of each text once.

    Args:
        split: `data.shards.Split`.
        sequence_length: int. Tokens that the model sees at a time.
        stride: see `Evaluation`; reduced to `sequence_length - 1` if larger.
        tokens: int. Tokens to score, from the beginnings of texts; None: all.

    Returns:
        dict of `loss` (nats per token), `perplexity` per token,
        `word_perplexity` per word (separated by whitespace) and `bits_per_byte`
        of the cleaned text, both comparable between tokenizers, and how many
        `tokens` and `words` were scored. With the argument `tokens`, words and
        bytes are estimated: as many per token as in the whole texts.
    """
    windows = batches.HeldOutBatches(
        split,
        batch_size=batch_size,
        sequence_length=sequence_length,
        stride=min(stride, sequence_length - 1),
        limit=tokens,
    )
    scores = scoring.predict(learner, windows, name=description)
    # Sums of millions of terms: in float64.
    nats = -np.sum(scores["log_probability"], dtype=np.float64)
    count = np.sum(scores["weight"], dtype=np.float64)
    share = count / split.lengths.sum()
    words, size = (share * each.sum() for each in (split.words, split.bytes))
    loss, bits = float(nats / count), float(nats / np.log(2.0))
    return {
        "loss": loss,
        "perplexity": results.perplexity(loss),
        "word_perplexity": results.perplexity(nats / words),
        "bits_per_byte": bits / size,
        "tokens": int(round(count)),
        "words": int(round(words)),
    }


@checks.value_object
class Evaluation:
    """How held-out text is scored."""

    # Tokens by which the window moves; each token sees at least
    # `sequence_length - stride` tokens before it.
    stride: checks.Count
    batch_size: checks.NotRecipe[checks.Count]  # windows per forward pass
    tokens: checks.NotRecipe[checks.Count]  # scored during training
    final_tokens: checks.Count | None = None  # at the end; None: all


class HeldOut:
    """The held-out books of a corpus, which may have no token to score."""

    def __init__(self, evaluation, shards, learner, sequence_length, num_steps):
        self._evaluation = evaluation
        self._num_steps = num_steps
        split = shards.split("held_out")
        # The first token of a book is not scored.
        self.has_tokens = int(split.lengths.max(initial=0)) > 1
        if not self.has_tokens:
            logging.warning(
                "no book is held out, so perplexity on unseen text will not be"
                " measured: give at least two books"
            )
        self._score = functools.partial(
            score,
            learner,
            split,
            sequence_length=sequence_length,
            stride=evaluation.stride,
            batch_size=evaluation.batch_size,
        )

    def record(self, step, history):
        """Measure and record a step, unless it is the last (see `final`)."""
        if self.has_tokens and step < self._num_steps:
            self._measure(step, history, self._evaluation.tokens)

    def final(self, history):
        """Measure and record the last step unless recorded; close `history`.

        Returns the dict of `score`, {} without held-out books.
        """
        step, metrics = self._num_steps, {}
        for line in results.read_metrics(history.path):
            if line["step"] == step and line.get("split") == "held_out":
                beside = ("step", "split", "seconds")
                metrics = {k: v for k, v in line.items() if k not in beside}
        if self.has_tokens and not metrics:
            tokens = self._evaluation.final_tokens
            metrics = self._measure(step, history, tokens)
        history.close()
        return metrics

    def _measure(self, step, history, tokens):
        metrics = self._score(tokens=tokens)
        history.write(step, split="held_out", **metrics)
        logging.info(
            f"held-out books after step {step:,}: perplexity"
            f" {metrics['perplexity']:,.2f} per token,"
            f" {metrics['word_perplexity']:,.2f} per word"
            f" ({metrics['tokens']:,} tokens)"
        )
        return metrics
