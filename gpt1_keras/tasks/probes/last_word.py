"""LAMBADA: the last word of a passage."""

import numpy as np

from gpt1_keras.data import continuations
from gpt1_keras.data.readers import lambada
from gpt1_keras.tasks.probes import fitting
from gpt1_keras.tasks.probes import labels
from gpt1_keras.tasks.probes import probe

# What the Penn Treebank writes for quotes and brackets. Books have the marks
# themselves.
_PENN_TREEBANK = {
    "``": '"',
    "''": '"',
    "`": "'",
    "-lrb-": "(",
    "-rrb-": ")",
    "-lsb-": "[",
    "-rsb-": "]",
    "-lcb-": "{",
    "-rcb-": "}",
}


class LastWord(probe.Probe):
    """Whether all tokens of the last word are the likeliest ones.

    The passage is given with the quotes and brackets of books in place of the
    Penn Treebank's; its words stay apart as they are in the file ("do n't"),
    which the tokenizer does itself.
    """

    name = "lambada"
    random = 0.0  # one of the whole vocabulary

    def read(self, data_dir, split):
        """See `lambada.read`."""
        return lambada.read(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """The last word is the continuation; a passage's beginning is cut."""
        (word,) = example.choices
        ids = fitting.encode(word, tokenizer)[: max_sequence_length - 1]
        return fitting.fit(
            tokenizer.encode(_with_marks(example.text)),
            [continuations.Continuation(ids)],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )

    def measure(self, examples, scores, train=None):
        """Return accuracy and perplexity of the last word.

        Returns:
            dict with `accuracy`; `perplexity` of a word, exp of the mean
            negative log-probability of words; `perplexity_token`, the same of
            their tokens.
        """
        sums = np.array([s.log_probability[0] for s in scores], "float64")
        num_tokens = sum(int(s.num_tokens[0]) for s in scores)
        return {
            "accuracy": float(np.mean([s.is_likeliest[0] for s in scores])),
            "perplexity": float(np.exp(-sums.mean())),
            "perplexity_token": float(np.exp(-sums.sum() / num_tokens)),
        }

    def majority(self, examples):
        """Return the accuracy of the commonest last word always."""
        words = [example.choices[0] for example in examples]
        return labels.majority_accuracy(words)


def _with_marks(text):
    return " ".join(_PENN_TREEBANK.get(word, word) for word in text.split())
