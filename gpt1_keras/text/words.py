"""Standardised text -> lower-case words, with spaCy's English rules.

The released pipeline splits with spaCy's English tokenizer and lowers each
word afterwards (spaCy's exceptions depend on case). A line break arrives from
spaCy as the token `"\\n "`; it becomes the word `"\\n"`.
"""

import functools
import threading

NEWLINE = "\n"
_lock = threading.Lock()


@functools.cache
def english():
    """Return spaCy's tokenizer for English."""
    import spacy  # seconds, and it imports torch where that is installed

    return spacy.blank("en").tokenizer


def split_words(text):
    """Return the words of standardised `text`, line breaks as `"\\n"`."""
    return [
        NEWLINE if token[0] == NEWLINE else token.lower()
        for token in split_tokens(text)
    ]


def split_tokens(text):
    """Return spaCy's tokens of `text` as they are.

    Nothing spaCy looks up in this call is kept, so its memory does not grow
    with the number of different words met.
    """
    tokenizer = english()
    with _lock, tokenizer.vocab.memory_zone():
        return [token.text for token in tokenizer(text)]
