"""Perplexity of any text, and of held-out books during and after training."""

import functools

import numpy as np

from gpt1_keras import checks
from gpt1_keras import console
from gpt1_keras import results
from gpt1_keras.data import batches as batches_lib
from gpt1_keras.data import loaders
from gpt1_keras.training import callbacks
from gpt1_keras.training import fit


def perplexity(learner, batches, *, num_words, num_bytes, callbacks=()):
    """Score every weighted token once with the `predict` of a `Learner`.

    Returns:
        dict of `loss` (nats per token, the mean over all tokens),
        `perplexity` per token, `word_perplexity` per word (separated by
        whitespace) and `bits_per_byte` of the files, both comparable between
        tokenizers, and how many `tokens` and `words` were scored; `num_words`
        and `num_bytes` are how many these tokens spell. Without `bits_per_byte`
        if `num_bytes` is 0, unknown.
    """
    scores = learner.predict(batches, verbose=0, callbacks=list(callbacks))
    # Sums of millions of terms: in float64.
    log_probability = np.sum(scores["log_probability"], dtype=np.float64)
    tokens = np.sum(scores["weight"], dtype=np.float64)
    loss = float(-log_probability / tokens)
    bits = float(-log_probability / np.log(2.0))
    return {
        "loss": loss,
        "perplexity": results.perplexity(loss),
        "word_perplexity": results.perplexity(-log_probability / num_words),
        **({"bits_per_byte": bits / num_bytes} if num_bytes else {}),
        "tokens": int(round(float(tokens))),
        "words": int(round(num_words)),
    }


def score(
    learner,
    split,
    *,
    sequence_length,
    stride,
    batch_size,
    tokens,
    stop=None,
    description="held-out perplexity",
):
    """Return loss and perplexities of texts (see `perplexity`).

    Every token but the first of each text is scored once.

    Args:
        learner: `training.learner.Learner`.
        split: `data.shards.Split`.
        sequence_length: int. Tokens that the model sees at a time.
        stride: int. Tokens by which this window moves; reduced to at most
            `sequence_length - 1`.
        batch_size: int. Windows per forward pass.
        tokens: int. Tokens to score, from the beginnings of the texts; None
            scores all.
        stop: `fit.StopRequest` that interrupts the work, or None.
    """
    scored = batches_lib.HeldOutBatches(
        split,
        batch_size=batch_size,
        sequence_length=sequence_length,
        stride=min(stride, sequence_length - 1),
        limit=tokens,
    )
    share = scored.num_scored / split.lengths.sum()
    num_bytes = split.bytes.sum() if split.bytes.all() else 0
    with console.bar(description, len(scored)) as advance:
        return perplexity(
            learner,
            loaders.load(scored, first_step=0, num_steps=len(scored)),
            num_words=float(share * split.words.sum()),
            num_bytes=float(share * num_bytes),
            callbacks=[callbacks.PredictionProgress(advance, stop)],
        )


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
    """The held-out books of a corpus and how they are scored.

    False where the corpus has none with a token to score.
    """

    def __init__(self, evaluation, shards, learner, sequence_length):
        self._evaluation = evaluation
        self._split = shards.split("held_out")
        self._score = functools.partial(
            score,
            learner,
            self._split,
            sequence_length=sequence_length,
            stride=evaluation.stride,
            batch_size=evaluation.batch_size,
        )

    def __bool__(self):
        # The first token of a book is not scored.
        return int(self._split.lengths.max(initial=0)) > 1

    def record_until(self, last_step):
        """Return `function(step, history)`, to record all but `final`."""

        def record(step, history):
            if self and step < last_step:
                metrics = self._score(tokens=self._evaluation.tokens)
                history.write(step, split="held_out", **metrics)

        return record

    def final(self, history, step):
        """Measure after the last step and record it, unless it is there.

        Closes `history`. Returns a dict as `score`, empty without held-out
        books; Stopped is raised on SIGTERM or Ctrl-C.
        """
        metrics = {}
        for line in results.read_metrics(history.path):
            if line["step"] == step and line.get("split") == "held_out":
                beside = ("step", "split", "seconds")
                metrics = {k: v for k, v in line.items() if k not in beside}
        if self and not metrics:
            with fit.catch_signals() as stop:
                tokens = self._evaluation.final_tokens
                metrics = self._score(tokens=tokens, stop=stop)
            history.write(step, split="held_out", **metrics)
        history.close()
        return metrics
