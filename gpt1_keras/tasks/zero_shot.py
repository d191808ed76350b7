"""Zero-shot tasks: questions to a language model without training (section 5).

A zero-shot task turns each example into a prefix and continuations for the
model to score, and the scores of all examples into metrics. The paper's four
are CoLA, SST-2, RACE and Definite Pronoun Resolution; WSC273, PDP and LAMBADA
come from other papers.
"""

import abc
import collections.abc
import dataclasses
import itertools
import re
import typing

import numpy as np

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import packing
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import zero_shot as readers
from gpt1_keras.evaluation import metrics
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib

_NO_CONTEXT = itertools.repeat(0)  # all ids of each continuation are scored
_flat = itertools.chain.from_iterable


@dataclasses.dataclass(frozen=True)
class ZeroShotTask(abc.ABC):
    """A task that a language model performs without having been trained on it.

    For `name`, `reader` and `row_counts` see `tasks.task.Task`.
    """

    name: str
    reader: collections.abc.Callable
    random: float  # expected first metric of random predictions
    split: str  # the default split to measure
    row_counts: tuple | None = None

    needs_train = False
    read = task_lib.Task.read

    @abc.abstractmethod
    def candidates(self, example, *, tokenizer, max_sequence_length):
        """Return the `data.packing.Candidates` of an example (see `fit`)."""

    def measure(self, examples, scores, train=None):
        """Return a dict of metrics; the first is the one that is plotted.

        By default, the choice with the highest mean log-probability is
        predicted, and labels are indices of choices. `scores` are
        `data.packing.Scores`; `train` is (examples, scores) if `needs_train`.
        """
        labels = self.labels(examples)
        best = [np.argmax(s.log_probability / s.num_tokens) for s in scores]
        return metrics.by_group(metrics.accuracy, examples, labels, best)

    def majority(self, examples):
        """Return the metrics of the best constant prediction."""
        labels = self.labels(examples)
        return metrics.by_group(_majority_accuracy, examples, labels)

    def labels(self, examples):
        """Return the labels; an example without one raises InputError."""
        labels = [example.label for example in examples]
        if not labels or None in labels:
            raise errors.InputError(
                f"{self.name}: {labels.count(None)} of {len(labels)} examples"
                " have no label: use a split with labels, such as dev"
            )
        return labels


class Acceptability(ZeroShotTask):
    """CoLA: the average token log-probability against a threshold.

    The paper states neither whether the first token counts nor how the
    threshold is chosen. Here the first token is only read, because nothing
    precedes it, and the threshold (nats per token) is the one with the best
    Matthews correlation on train, `matthews_train`. `auc` needs no threshold.
    """

    needs_train = True

    def candidates(self, example, *, tokenizer, max_sequence_length):
        """The prefix is the first token (of a single one, the opening)."""
        ids = tokenizer.encode_prompt(example.text)
        if len(ids) == 1:
            ids = [tokenizer.opening_id, *ids]
        return fit(ids[:1], [ids[1:]], tokenizer, max_sequence_length)

    def measure(self, examples, scores, train=None):
        threshold, best = metrics.matthews_threshold(*self._averages(*train))
        targets, averages = self._averages(examples, scores)
        return {
            **metrics.matthews_and_accuracy(targets, averages >= threshold),
            **metrics.area_under_curve(targets, averages),
            "threshold": threshold,
            "matthews_train": best,
        }

    def majority(self, examples):
        return {"matthews": 0.0, **super().majority(examples), "auc": 0.5}

    def _averages(self, examples, scores):
        """Return labels (1: acceptable) and average scores, `[N]`."""
        labels = np.array(self.labels(examples))
        averages = [s.log_probability[0] / s.num_tokens[0] for s in scores]
        return (labels == glue.BINARY[1]).astype("int64"), np.array(averages)


@dataclasses.dataclass(frozen=True)
class Sentiment(ZeroShotTask):
    """SST-2: which class's words are likelier after the review and "very"?

    The next-token distribution is restricted to the words of both classes. The
    probability of a class is the sum over its words, that of a word the
    product over its tokens. The review keeps its full stop, and "very" is
    tokenised with it. `auc` does not depend on a bias towards one class.
    """

    # Words of the negative class, then of the positive one.
    label_words: tuple = (("negative",), ("positive",))

    def candidates(self, example, *, tokenizer, max_sequence_length):
        """One continuation per word; reviews are truncated at the beginning."""
        words = [tokenizer.encode_prompt(w) for w in _flat(self.label_words)]
        if len(set(map(tuple, words))) < len(words):
            raise errors.InputError(
                f"`label_words` are {self.label_words!r}: two of them have the"
                " same tokens: give words that the preset's vocabulary knows"
            )
        prefix = tokenizer.encode(f"{example.text} very")
        return fit(prefix, words, tokenizer, max_sequence_length)

    def measure(self, examples, scores, train=None):
        labels = self.labels(examples)
        targets = np.array([glue.BINARY.index(label) for label in labels])
        # [words, N] -> [N]
        logs = np.stack([s.log_probability for s in scores], axis=1)
        parts = np.split(logs, [len(self.label_words[0])])
        negative, positive = map(np.logaddexp.reduce, parts)
        odds = positive - negative
        return {
            **metrics.accuracy(targets, odds > 0),
            "positive_share": float(np.mean(odds > 0)),
            **metrics.area_under_curve(targets, odds),
        }


class Reading(ZeroShotTask):
    """RACE: the answer that is likeliest after document and question.

    Document and question are joined without a delimiter, as in fine-tuning.
    The paper does not say how long documents are handled. Here their beginning
    is truncated, equally for all answers, because the question comes last.
    """

    def candidates(self, example, *, tokenizer, max_sequence_length):
        answers = [tokenizer.encode_prompt(text) for text in example.choices]
        question = tokenizer.encode(example.text_pair)
        prefix = tokenizer.encode(example.text) + question
        return fit(prefix, answers, tokenizer, max_sequence_length)


class PronounResolution(ZeroShotTask):
    """Winograd schemas: the candidate after which the rest is likeliest.

    Each candidate replaces the pronoun, with an 's if that is possessive. Only
    the tokens after it are scored, which are the same for all candidates. If
    there are none, the candidates' own tokens are scored.
    """

    def candidates(self, example, *, tokenizer, max_sequence_length):
        """One continuation per candidate: it and the rest of the text.

        | text         | choices | prefix  | continuations      |
        |--------------|---------|---------|--------------------|
        | 5 [MASK] 8 9 | 6, 6 7  | 5       | (6) 8 9, (6 7) 8 9 |
        | [MASK] 8 9   | 6, 6 7  | opening | (6) 8 9, (6 7) 8 9 |
        | 5 [MASK]     | 6, 6 7  | 5       | 6, 6 7             |

        Tokens in brackets are read, not scored. If a text is too long, its
        beginning is truncated, and the end of what follows the pronoun.
        """
        before, choices, after = substitute(example)
        # Leave room for a token before a candidate and one after it.
        longest = max_sequence_length - 2
        names = [tokenizer.encode_prompt(text)[-longest:] for text in choices]
        room = max_sequence_length - 1 - max(map(len, names))
        rest = tokenizer.encode(after)[:room]
        return fit(
            tokenizer.encode(before),
            [ids + rest for ids in names],
            tokenizer,
            max_sequence_length,
            num_context=map(len, names) if rest else _NO_CONTEXT,
        )


class LastWord(ZeroShotTask):
    """LAMBADA: are all tokens of the last word the likeliest ones?

    Quotes and brackets of the Penn Treebank are replaced by those of books.
    Words that the file has split ("do n't") stay so: the tokenizer splits them,
    too. `perplexity` is per word, `perplexity_token` per token of these words.
    """

    _PENN_TREEBANK = {"``": '"', "''": '"', "`": "'"} | dict(
        zip("-lrb- -rrb- -lsb- -rsb- -lcb- -rcb-".split(), "()[]{}")
    )

    def candidates(self, example, *, tokenizer, max_sequence_length):
        words = example.text.split()
        text = " ".join(self._PENN_TREEBANK.get(word, word) for word in words)
        ids = [tokenizer.encode_prompt(word) for word in example.choices]
        return fit(tokenizer.encode(text), ids, tokenizer, max_sequence_length)

    def measure(self, examples, scores, train=None):
        sums = np.array([s.log_probability[0] for s in scores], "float64")
        num_tokens = sum(int(s.num_tokens[0]) for s in scores)
        return {
            "accuracy": float(np.mean([s.is_likeliest[0] for s in scores])),
            "perplexity": results.perplexity(-sums.mean()),
            "perplexity_token": results.perplexity(-sums.sum() / num_tokens),
        }

    def majority(self, examples):
        return _majority_accuracy([example.choices[0] for example in examples])


def fit(prefix, continuations, tokenizer, limit, num_context=_NO_CONTEXT):
    """Return `packing.Candidates`, keeping the end of the prefix that fits.

    | prefix  | longest continuation | limit | becomes      |
    |---------|----------------------|-------|--------------|
    | 1 2 3 4 | 5 6                  | 6     | 1 2 3 4, 5 6 |
    | 1 2 3 4 | 5 6                  | 4     | 3 4, 5 6     |
    | 1 2 3 4 | 5 6                  | 2     | 4, 5         |
    |         | 5 6                  | 4     | opening, 5 6 |

    `prefix` is a list of ids, perhaps empty, `continuations` a list of such
    lists. The first `num_context` ids of each are read but not scored.
    """
    continuations = [ids[: limit - 1] for ids in continuations]
    room = limit - max(map(len, continuations))
    return packing.Candidates(
        prefix[-room:] or [tokenizer.opening_id],
        [(ids[:n], ids[n:]) for ids, n in zip(continuations, num_context)],
        num_cut=max(0, len(prefix) - room),
    )


_POSSESSIVE = frozenset("his its their my your our whose".split())
_PREPOSITION = re.compile(
    r"\b(at|behind|beside|by|for|from|in|into|of|on|over|to|under|upon|with"
    r"|without) $"
)
# A word that may be possessed. Before the others, "her" is an object.
_POSSESSED = re.compile(
    r"\s(?!(a|about|and|as|at|but|by|for|from|in|on|so|that|the|there|to|what"
    r"|when|with)\b)\w"
)


def substitute(example):
    """Return the text before the pronoun, the choices, and the rest.

    "her" is possessive if a word follows that may be possessed; a hidden
    pronoun is if, in addition, a preposition precedes it.
    """
    before, _, after = example.text.partition(readers.BLANK)
    pronoun = example.text_pair.lower()
    is_possessive = pronoun in _POSSESSIVE
    if pronoun in ("her", ""):
        may_possess = pronoun == "her" or _PREPOSITION.search(before)
        is_possessive = may_possess and _POSSESSED.match(after)
    choices = list(example.choices)
    if is_possessive:
        choices = [t + ("'" if t[-1] in "sS" else "'s") for t in choices]
    return before, choices, after


def _majority_accuracy(values):
    _, counts = np.unique(values, return_counts=True)
    return {"accuracy": float(counts.max() / len(values))}


# Of PDP's 60 problems 45 have two candidates, 12 three, one four and two five.
# fmt: off
_ROWS = (
    Acceptability("cola", benchmarks.BENCHMARKS["cola"].read, 0.0, "dev"),
    Sentiment("sst2", benchmarks.BENCHMARKS["sst2"].read, 0.5, "dev"),
    Reading("race", benchmarks.BENCHMARKS["race"].read, 0.25, "dev"),
    PronounResolution("dprd", readers.read_dprd, 0.5, "test", (1_322, 0, 564)),
    PronounResolution("wsc", readers.read_wsc, 0.5, "test",
                      (0, 0, readers.NUM_WSC)),
    PronounResolution("pdp", readers.read_pdp, 0.4525, "test", (0, 0, 60)),
    LastWord("lambada", readers.read_lambada, 0.0, "dev", (0, 4_869, 5_153)),
)
# fmt: on
_TASKS = {each.name: each for each in _ROWS}
_Names = typing.Annotated[tuple[str, ...], checks.Mark(is_unique=True)]
_LabelWords = typing.Annotated[
    tuple[
        typing.Annotated[tuple[checks.Column, ...], checks.Mark(low=1)],
        ...,
    ],
    checks.Mark(low=2, high=2),
]


def task(name: checks.Column, label_words: _LabelWords | None = None):
    """Return the `ZeroShotTask` with a name of `_TASKS`.

    `label_words` are for SST-2 (see `Sentiment`); None: the paper's.
    """
    found = checks.find_name(name, _TASKS, "zero-shot task")
    if label_words is None:
        return found
    words = [" ".join(word.lower().split()) for word in _flat(label_words)]
    are_distinct = len(set(words)) == len(words)
    if not isinstance(found, Sentiment) or "" in words or not are_distinct:
        raise errors.InputError(
            f"`label_words` are {label_words!r}: give each word to one class"
            " only, and words only to the zero-shot task 'sst2'"
        )
    return dataclasses.replace(found, label_words=label_words)


def tasks(names: _Names):
    """Return the `ZeroShotTask`s of a tuple of names, which may be empty."""
    return [task(name) for name in names]
