"""Winograd schemas: the candidate that makes what follows it likeliest."""

import re

from gpt1_keras.data import continuations
from gpt1_keras.data.readers import pronouns as reader
from gpt1_keras.tasks.probes import choice
from gpt1_keras.tasks.probes import fitting
from gpt1_keras.tasks.probes import possessives


class Pronouns(choice.ChoiceProbe):
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
            fitting.encode(text, tokenizer)[-(max_sequence_length - 2) :]
            for text in candidates
        ]
        rest = tokenizer.encode(after)
        rest = rest[: max_sequence_length - 1 - max(map(len, names))]
        return fitting.fit(
            tokenizer.encode(before),
            [
                continuations.Continuation(ids + rest, len(ids) if rest else 0)
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
            possessives.is_possessive(before, example.text_pair, after)
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
    if possessives.is_possessive(before, example.text_pair, after):
        candidates = [_possessive(text) for text in candidates]
    return before, candidates, after


def _split(text):
    before, _, after = text.partition(reader.BLANK)
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
