"""SST-2: what is likelier after a review and "very"?"""

import numpy as np

from gpt1_keras import errors
from gpt1_keras.data import continuations
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import metrics
from gpt1_keras.tasks.probes import fitting
from gpt1_keras.tasks.probes import labels
from gpt1_keras.tasks.probes import probe

LABEL_WORDS = (("negative",), ("positive",))
_APPENDED = "very"


class Sentiment(probe.Probe):
    """The class whose words are likelier after the review and "very".

    The next-token distribution restricted to the words of both classes; a
    class has the summed probability of its words. A word of several tokens has
    their product. The review keeps its full stop, and "very" passes through
    the tokenizer with it.

    Args:
        label_words: two sequences of str, the words of the negative and of the
            positive class.

    Raises:
        InputError: that is not what they are, a class has no word, or a word
            stands for both.
    """

    name = "sst2"
    random = 0.5

    def __init__(self, label_words=LABEL_WORDS):
        _check(label_words)
        self.label_words = tuple(map(tuple, label_words))

    def read(self, data_dir, split):
        """See `glue.read_sst2`."""
        return glue.read_sst2(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """One continuation for each word; a review's beginning is cut."""
        prefix = tokenizer.encode(f"{example.text} {_APPENDED}")
        ids = [
            fitting.encode(word, tokenizer)[: max_sequence_length - 1]
            for words in self.label_words
            for word in words
        ]
        return fitting.fit(
            prefix,
            [continuations.Continuation(word) for word in ids],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )

    def measure(self, examples, scores, train=None):
        """Return the accuracy, how often positive was predicted, and the
        area under the curve, which no bias to one of the words changes."""
        found = labels.labels(self.name, examples)
        targets = np.array([glue.BINARY.index(label) for label in found])
        end = len(self.label_words[0])
        odds = np.array(
            [
                np.logaddexp.reduce(s.log_probability[end:])
                - np.logaddexp.reduce(s.log_probability[:end])
                for s in scores
            ]
        )
        predictions = odds > 0
        return {
            **metrics.accuracy(targets, predictions),
            "positive_share": float(predictions.mean()),
            **metrics.area_under_curve(targets, odds),
        }

    def majority(self, examples):
        """Return the accuracy of the commoner class always."""
        return labels.majority_accuracy(labels.labels(self.name, examples))


def _check(label_words):
    is_two = _is_list(label_words) and len(label_words) == len(glue.BINARY)
    if not is_two or not all(map(_is_list_of_words, label_words)):
        raise errors.InputError(
            f"LABEL_WORDS {label_words!r} are not two lists of words: give"
            f" negative and positive ones as in {LABEL_WORDS!r}"
        )
    words = [word for part in label_words for word in part]
    repeated = [word for word in words if words.count(word) > 1]
    if repeated:
        raise errors.InputError(
            f"LABEL_WORDS have {repeated[0]!r} more than once: give each word"
            " to one class"
        )


def _is_list(value):
    return isinstance(value, list | tuple)


def _is_list_of_words(value):
    return (
        _is_list(value)
        and len(value) > 0
        and all(isinstance(word, str) and word.strip() for word in value)
    )
