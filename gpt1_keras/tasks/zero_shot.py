"""All zero-shot probes by name."""

import abc
import collections
import re

import numpy as np

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import packing
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import lambada
from gpt1_keras.data.readers import question_answering
from gpt1_keras.data.readers import winograd
from gpt1_keras.evaluation import metrics

# -----------------------------------------------------------------------------
# What a zero-shot probe is (paper, section 5).


class Probe(abc.ABC):
    """A task that a language model answers without having learnt it.

    Attributes:
        name: str.
        random: float. What the first metric is by guessing.
        split: str. Where it is measured if nothing else is said.
        needs_train: bool. Whether `measure` wants scored train examples.
    """

    name = ""
    random = 0.0
    split = "dev"
    needs_train = False

    @abc.abstractmethod
    def read(self, data_dir, split):
        """Return the list of Example of a split, "train", "dev" or "test"."""

    @abc.abstractmethod
    def item(self, example, *, tokenizer, max_sequence_length):
        """Return the `data.packing.Item` of an example.

        Prefix and each continuation together have at most
        `max_sequence_length` ids.
        """

    @abc.abstractmethod
    def measure(self, examples, scores, train=None):
        """Return a dict of metrics; the first is the one that is plotted.

        Args:
            examples: list of `N` Example.
            scores: list of `N` `data.packing.Scores`.
            train: the same pair for train examples, or None.
        """

    @abc.abstractmethod
    def majority(self, examples):
        """Return the metrics of the best constant guess."""


# -----------------------------------------------------------------------------
# What is right, of the examples of a probe, and the best constant guess.


def labels(name, examples):
    """Return the list of labels.

    Raises:
        InputError: an example has none.
    """
    found = [example.label for example in examples]
    if not found or None in found:
        raise errors.InputError(
            f"{name}: {len(found)} examples, {found.count(None)} of them"
            " without a label: take a split with labels, such as dev"
        )
    return found


def by_group(examples, metric, values):
    """Return `metric` of all values, then of each group's.

    Args:
        examples: list of `N` Example.
        metric: function from an array of values to dict.
        values: array `[N, ...]`.

    Returns:
        dict from name to number, `{name}_{group}` for a group where there are
        several.
    """
    values = np.asarray(values)
    found = dict(metric(values))
    groups = np.array([example.group for example in examples])
    # In the order of the examples: RACE's middle before high.
    names = list(dict.fromkeys(groups.tolist()))
    if len(names) > 1:
        for name in names:
            part = metric(values[groups == name])
            found |= {f"{key}_{name}": part[key] for key in part}
    return found


def majority_accuracy(values):
    """Return the accuracy of guessing the commonest of the values always."""
    ((_, count),) = collections.Counter(
        np.asarray(values).tolist()
    ).most_common(1)
    return {"accuracy": count / len(values)}


# -----------------------------------------------------------------------------
# Items of a language model that fit into its positions.


def encode(text, tokenizer):
    """Return the ids of a text, never none of them."""
    return tokenizer.encode(text) or [opening(tokenizer)]


def opening(tokenizer):
    """Return the id that stands before a text where nothing else does.

    The language model has no start token. A line break is what it has seen
    before the first word of a paragraph; a vocabulary without one has a full
    stop.
    """
    if tokenizer.newline_id is not None:
        return tokenizer.newline_id
    return tokenizer.encode(".")[0]


def fit(prefix, continuations_, *, tokenizer, max_sequence_length):
    """Return the Item with what is nearest to the continuations.

    | prefix  | longest continuation | max_sequence_length | becomes |
    |---------|----------------------|---------------------|---------|
    | 1 2 3 4 | 5 6                  | 6                   | 1 2 3 4 |
    | 1 2 3 4 | 5 6                  | 4                   | 3 4     |
    |         | 5 6                  | 4                   | opening |

    Args:
        prefix: list of ids, perhaps empty; its beginning is cut.
        continuations_: list of Continuation, each shorter than
            `max_sequence_length`.
        tokenizer: Tokenizer.
        max_sequence_length: int, positions.

    Raises:
        ValueError: a continuation leaves no room for a prefix.
    """
    room = max_sequence_length - max(len(c.ids) for c in continuations_)
    if room < 1:
        raise ValueError(
            f"a continuation of {max_sequence_length - room} tokens leaves no"
            f" room for a prefix in {max_sequence_length} positions"
        )
    return packing.Item(
        list(prefix)[-room:] or [opening(tokenizer)],
        tuple(continuations_),
        num_cut=max(0, len(prefix) - room),
    )


# -----------------------------------------------------------------------------
# Probes that choose the continuation with the highest average.


class ChoiceProbe(Probe):
    """The choice whose scored tokens have the highest mean log-probability.

    The label of an example is the index of the right choice. Groups are also
    measured on their own.
    """

    def measure(self, examples, scores, train=None):
        """Return `accuracy`, and of each group where there are several."""
        targets = labels(self.name, examples)
        predictions = [
            int(np.argmax(s.log_probability / s.num_tokens)) for s in scores
        ]
        return by_group(
            examples,
            lambda pairs: metrics.accuracy(pairs[:, 0], pairs[:, 1]),
            np.stack([targets, predictions], axis=1),  # [N, 2]
        )

    def majority(self, examples):
        """Return the accuracy of the same place always, the best by group."""
        return by_group(
            examples,
            majority_accuracy,
            labels(self.name, examples),
        )


# -----------------------------------------------------------------------------
# CoLA: a sentence is acceptable where its words are likely.

_ACCEPTABLE = glue.BINARY[1]


class Acceptability(Probe):
    """The average token log-probability of a sentence against a threshold.

    The paper states neither whether the first token counts nor how the
    threshold is chosen. Here the first token is only read, as nothing is
    before it that could predict it, and the threshold is the one with the best
    Matthews correlation on the train examples. `auc` needs no threshold: it is
    the chance that an acceptable sentence scores above an unacceptable one.
    """

    name = "cola"
    random = 0.0  # Matthews correlation
    needs_train = True

    def read(self, data_dir, split):
        """See `glue.read_cola`."""
        return glue.read_cola(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """The first token is the prefix; a sentence's end is cut.

        A sentence of one token stands behind `zero_shot.opening`.
        """
        ids = encode(example.text, tokenizer)
        if len(ids) == 1:
            ids = [opening(tokenizer), *ids]
        ids = ids[:max_sequence_length]
        return fit(
            ids[:1],
            [packing.Continuation(ids[1:])],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )

    def measure(self, examples, scores, train=None):
        """Return Matthews correlation, accuracy, AUC and what was chosen.

        Returns:
            dict with `matthews`, `accuracy`, `auc`, the `threshold` (nats per
            token) and `matthews_train`, the best on train.

        Raises:
            ValueError: there are no train examples.
        """
        if train is None:
            raise ValueError("the threshold is chosen on train examples")
        train_examples, train_scores = train
        threshold, best = metrics.matthews_threshold(
            self._targets(train_examples), _averages(train_scores)
        )
        targets, averages = self._targets(examples), _averages(scores)
        return {
            **metrics.matthews_and_accuracy(targets, averages >= threshold),
            **metrics.area_under_curve(targets, averages),
            "threshold": threshold,
            "matthews_train": best,
        }

    def majority(self, examples):
        """Return the metrics of the commoner class always."""
        accuracy = majority_accuracy(labels(self.name, examples))
        return {"matthews": 0.0, **accuracy, "auc": 0.5}

    def _targets(self, examples):
        found = labels(self.name, examples)
        return np.array([label == _ACCEPTABLE for label in found], "int64")


def _averages(scores):
    return np.array([s.log_probability[0] / s.num_tokens[0] for s in scores])


# -----------------------------------------------------------------------------
# SST-2: what is likelier after a review and "very"?

LABEL_WORDS = (("negative",), ("positive",))
_APPENDED = "very"


class Sentiment(Probe):
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
            encode(word, tokenizer)[: max_sequence_length - 1]
            for words in self.label_words
            for word in words
        ]
        return fit(
            prefix,
            [packing.Continuation(word) for word in ids],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )

    def measure(self, examples, scores, train=None):
        """Return the accuracy, how often positive was predicted, and the
        area under the curve, which no bias to one of the words changes."""
        found = labels(self.name, examples)
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
        return majority_accuracy(labels(self.name, examples))


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


# -----------------------------------------------------------------------------
# RACE: the answer that is likeliest after document and question.


class Reading(ChoiceProbe):
    """The answer with the highest mean log-probability of its tokens.

    Document and question are joined without a delimiter, as for fine-tuning.
    The paper does not say what is done with long documents. Here question and
    answers are kept and the beginning of the document is cut, so that what is
    nearest to the question stays, and for all answers alike.
    """

    name = "race"
    random = 0.25

    def read(self, data_dir, split):
        """See `question_answering.read_race`."""
        return question_answering.read_race(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """One continuation for each answer; all share document and question.

        An answer of `max_sequence_length` tokens or more loses its end.
        """
        answers = [
            encode(text, tokenizer)[: max_sequence_length - 1]
            for text in example.choices
        ]
        return fit(
            tokenizer.encode(example.text)
            + tokenizer.encode(example.text_pair),
            [packing.Continuation(ids) for ids in answers],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )


# -----------------------------------------------------------------------------
# Is a pronoun possessive, that is: does a candidate need 's in its place?

_POSSESSIVE = frozenset("his its their my your our whose".split())
_EITHER = frozenset(["her", ""])

_PREPOSITIONS = frozenset(
    "about above across against along among around at behind below beneath"
    " beside between beyond by down during for from in inside into like near"
    " of off on onto out outside over past round through to toward towards"
    " under up upon with within without".split()
)
# After them a pronoun begins a clause, as it does after a full stop.
_CONNECTIVES = frozenset(
    "after although and as because before but how if since so than that then"
    " though unless until when where whereas whether while why".split()
)
# With and without the "not" that may be joined to them.
_AUXILIARIES = frozenset(
    "am is are was were be been being have has had do does did will would can"
    " could shall should may might must ca wo".split()
)
_FUNCTION_WORDS = (
    _PREPOSITIONS
    | _AUXILIARIES
    | frozenset(
        "a an the this that these those and or but nor if because since so as"
        " than then when where while who which what why how until after before"
        " although though unless i you he she it we they me him us them not"
        " never always also often just too now there here no any"
        " all both some again away still even almost soon ever".split()
    )
)
# Of verbs whose past is not the form of a noun or an adjective.
_IRREGULAR_PASTS = frozenset(
    "became began bit blew bought broke brought built came caught chose did"
    " drank drew drove ate fell felt flew forgave forgot fought froze gave"
    " got grew had heard held hid kept knew laid lay led left lent lost made"
    " meant met paid ran rang rode rose said sang sank sat saw sent shook shot"
    " slept slid sold spent spoke spread stole stood struck swam swore taught"
    " thought threw told took tore understood went woke won wore wrote".split()
)
# Before an object and what becomes of it: "made her gasp", "keep it dry".
_CAUSATIVES = frozenset(
    "let lets letting make makes made making keep keeps kept keeping".split()
)


def is_possessive(before, pronoun, after):
    """Return whether the pronoun between two texts is possessive.

    | before           | pronoun | after                | possessive |
    |------------------|---------|----------------------|------------|
    | walked           | his     | dog .                | yes        |
    | she waved        | her     | tail .               | yes        |
    | he took          | her     | to the hospital .    | no         |
    | because          |         | feared violence .    | no         |
    | because          |         | turn was over .      | yes        |

    Args:
        before: str, what stands before it.
        pronoun: str; "" where it is not known.
        after: str, what stands behind it.
    """
    pronoun = pronoun.lower()
    if pronoun not in _EITHER:
        return pronoun in _POSSESSIVE
    following = _following_words(after)
    preceding = re.findall(r"[\w'-]+|[^\w\s]", before.lower())[-1:]
    if following == ["will"]:  # against [her] will.
        return True
    if not following or following[0] in _FUNCTION_WORDS:
        return False
    if not _CAUSATIVES.isdisjoint(preceding):
        return False
    if pronoun:
        return True
    if _is_verb(following[0]):
        return False
    if not _PREPOSITIONS.isdisjoint(preceding):
        return True
    if following[0].endswith(("ing", "ly")):
        return False
    begins_clause = not preceding or preceding[0] in _CONNECTIVES | {*".,;:!?"}
    has_verb = len(following) > 1 and _is_verb(following[1])
    if begins_clause or re.search(r"[^s]s$", following[0]):
        # "[they] like it", "[it] makes us happy", but "[his] legs ached".
        return has_verb
    return True


def _following_words(text):
    """Return the word that follows directly, and the next if there is one."""
    # A quote may open before the word: his "Dibs!" was slow.
    match = re.match(r"\s+\"?([\w'-]+)(?:\W*\s+([\w'-]+))?", text.lower())
    return [word for word in match.groups() if word] if match else []


def _is_verb(word):
    """Return whether the form of a word says that it is a verb."""
    return (
        word in _AUXILIARIES
        or word in _IRREGULAR_PASTS
        or re.search(r"n't$|\w\wed$", word) is not None
    )


# -----------------------------------------------------------------------------
# Winograd schemas: the candidate that makes what follows it likeliest.


class Pronouns(ChoiceProbe):
    """The candidate after which the rest of the text is likeliest.

    Each candidate takes the place of the pronoun and is read; the mean
    log-probability of the tokens behind it counts, of the same tokens for all
    candidates. Candidates keep their spelling: the tokenizer lower-cases, so
    that "The bee" is right also within a sentence, and "the bee" where one
    begins. In the place of a possessive pronoun they get 's.

    Where nothing at all follows the pronoun, there is no rest to be compared
    and the candidates' own tokens are scored. A full stop is a rest.

    Args:
        name: str.
        read: reader of `data.readers.pronouns`.
        random: float, the accuracy of guessing.
    """

    split = "test"

    def __init__(self, name, read, *, random):
        self.name = name
        self.random = random
        self._read = read

    def read(self, data_dir, split):
        """See `data.readers.pronouns`."""
        return self._read(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """One continuation for each candidate: it and the rest of the text.

        | text         | choices | prefix  | continuations      |
        |--------------|---------|---------|--------------------|
        | 5 [MASK] 8 9 | 6, 6 7  | 5       | (6) 8 9, (6 7) 8 9 |
        | [MASK] 8 9   | 6, 6 7  | opening | (6) 8 9, (6 7) 8 9 |
        | 5 [MASK]     | 6, 6 7  | 5       | 6, 6 7             |

        Tokens in brackets are read, not scored. Too long a text loses its
        beginning, then the end of the rest.
        """
        before, candidates, after = substitute(example)
        # Room for a token before a candidate and one behind it.
        names = [
            encode(text, tokenizer)[-(max_sequence_length - 2) :]
            for text in candidates
        ]
        rest = tokenizer.encode(after)
        rest = rest[: max_sequence_length - 1 - max(map(len, names))]
        return fit(
            tokenizer.encode(before),
            [
                packing.Continuation(ids + rest, len(ids) if rest else 0)
                for ids in names
            ],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )

    def measure(self, examples, scores, train=None):
        """Return the accuracy, and how many texts were handled how.

        Returns:
            dict with `accuracy`; `num_possessive`, texts whose candidates got
            's; `num_recased`, texts in which a candidate has a capital and
            the pronoun none, as names and "The bee" have, or the pronoun one
            and a candidate none; `num_last`, texts in which no word follows
            the pronoun, so that at most punctuation was scored.
        """
        found = super().measure(examples, scores)
        parts = [_split(example.text) for example in examples]
        found["num_possessive"] = sum(
            is_possessive(before, example.text_pair, after)
            for example, (before, after) in zip(examples, parts)
        )
        found["num_recased"] = sum(
            _is_recased(example, before)
            for example, (before, _) in zip(examples, parts)
        )
        found["num_last"] = sum(
            re.search(r"\w", after) is None for _, after in parts
        )
        return found


def substitute(example):
    """Return the text before the pronoun, what takes its place, and the rest.

    Returns:
        str, list of str (the candidates, possessive if the pronoun is), str.
    """
    before, after = _split(example.text)
    candidates = list(example.choices)
    if is_possessive(before, example.text_pair, after):
        candidates = [_possessive(text) for text in candidates]
    return before, candidates, after


def _split(text):
    before, _, after = text.partition(winograd.BLANK)
    return before, after


def _is_recased(example, before):
    """Return whether a candidate begins in another case than its place."""
    # A file that hides its pronoun does not say how that was written.
    begins = re.search(r"(^|[.!?])[\s\"'`]*$", before) is not None
    opens = example.text_pair[:1].isupper() or begins
    if example.text_pair == "I":
        opens = begins
    return any(text[:1].isupper() != opens for text in example.choices)


def _possessive(text):
    return f"{text}'" if text.lower().endswith("s") else f"{text}'s"


# -----------------------------------------------------------------------------
# LAMBADA: the last word of a passage.

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


class LastWord(Probe):
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
        ids = encode(word, tokenizer)[: max_sequence_length - 1]
        return fit(
            tokenizer.encode(_with_marks(example.text)),
            [packing.Continuation(ids)],
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
        return majority_accuracy(words)


def _with_marks(text):
    return " ".join(_PENN_TREEBANK.get(word, word) for word in text.split())


# -----------------------------------------------------------------------------
# All zero-shot probes by name.


def _dprd():
    return Pronouns("dprd", winograd.read_dprd, random=0.5)


def _wsc():
    return Pronouns("wsc", winograd.read_wsc, random=0.5)


def _pdp():
    # The mean of 1 / number of candidates over its 60 problems: 45 have two
    # candidates, 12 three, one four and two five.
    return Pronouns("pdp", winograd.read_pdp, random=0.4525)


# The paper's four, then others in their official files.
_PROBES = {
    "cola": Acceptability,
    "sst2": Sentiment,
    "race": Reading,
    "dprd": _dprd,
    "wsc": _wsc,
    "pdp": _pdp,
    "lambada": LastWord,
}

NAMES = tuple(_PROBES)


def probe(name, label_words=None):
    """Return the `Probe` of that name, one of `NAMES`.

    Args:
        name: str.
        label_words: of SST-2, what `zero_shot.Sentiment` takes; None: its own.

    Raises:
        InputError: there is none, says which name is nearest; or the words
            are wrong.
    """
    make = checks.find_name(name, _PROBES, "probe")
    if label_words is None:
        return make()
    if name != "sst2":
        raise errors.InputError(
            f"LABEL_WORDS are for the probe 'sst2', not {name!r}: take "
            f"gin/zero_shot/{name}.gin"
        )
    return make(label_words)


def by_name(names):
    """Return the list of `Probe` of some names, perhaps none.

    Raises:
        InputError: there is none of that name, or no list of names.
    """
    checks.check_names(
        names, dial="PROBES", example=("cola", "sst2"), may_be_empty=True
    )
    return [probe(name) for name in names]
