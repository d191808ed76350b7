"""Figure 1 of the paper: the token ids of an example as candidate sequences.

All transforms are pure functions with the same interface:

    transform(text, text_pair, choices, *, tokenizer, max_sequence_length)
        -> Sequences

where the texts are lists of ids (`encoded`) and `tokenizer` is any object with
`start_id`, `delimiter_id` and `extract_id`, written `s`, `$` and `e` in the
tables. Each sequence ends with its extract token, where the head reads.

If an example has two texts and no choices, each is truncated to
`max_sequence_length // 2 - 2` tokens, as in the released code (train.py, line
377).
"""

import itertools
import typing

import numpy as np

from gpt1_keras import errors
from gpt1_keras.data import batches

NUM_SPECIAL = 3  # s, $ and e in a sequence of two texts


class Signature(typing.NamedTuple):
    """The fields of an `Example` that a transform reads, and its `C`."""

    fields: tuple
    num_candidates: int | None  # None: it depends on the example
    shares_prefix: bool = False  # whether all candidates begin alike


SIGNATURES = {
    "classification": Signature(("text",), 1),
    "entailment": Signature(("text", "text_pair"), 1),
    "similarity": Signature(("text", "text_pair"), 2),
    "multiple_choice": Signature(
        ("text", "text_pair", "choices"), None, shares_prefix=True
    ),
}


class Sequences(typing.NamedTuple):
    """`C` lists of ids, and the number of tokens removed by truncation."""

    candidates: list
    num_cut: int


def encoded(encode, text, text_pair="", choices=()):
    """Return the ids of the texts of an example, as transforms take them."""
    pair = encode(text_pair) if text_pair else ()
    return encode(text), pair, tuple(map(encode, choices))


def classification(text, *_, tokenizer, max_sequence_length):
    """Return one text between start and extract token: `C = 1`.

    | text | candidates |
    |------|------------|
    | 5 6  | `s 5 6 e`  |

    The text is truncated to `max_sequence_length - 2` tokens.
    """
    kept = text[: room(max_sequence_length, 1)]
    return Sequences([_join(tokenizer, kept)], len(text) - len(kept))


def entailment(text, text_pair, *_, tokenizer, max_sequence_length):
    """Return premise and hypothesis, or question and sentence: `C = 1`.

    | text | text_pair | candidates    |
    |------|-----------|---------------|
    | 5 6  | 7         | `s 5 6 $ 7 e` |
    """
    *pair, num_cut = _truncate_pair(text, text_pair, max_sequence_length)
    return Sequences([_join(tokenizer, *pair)], num_cut)


def similarity(text, text_pair, *_, tokenizer, max_sequence_length):
    """Return two texts in both orders, because neither is first: `C = 2`.

    | text | text_pair | candidates                   |
    |------|-----------|------------------------------|
    | 5 6  | 7         | `s 5 6 $ 7 e`, `s 7 $ 5 6 e` |
    """
    *pair, num_cut = _truncate_pair(text, text_pair, max_sequence_length)
    both = [_join(tokenizer, *pair), _join(tokenizer, *pair[::-1])]
    return Sequences(both, num_cut)


def multiple_choice(
    text, text_pair, choices, *, tokenizer, max_sequence_length
):
    """Return document, question (if any) and choice, for each of `C` choices.

    Document and question are joined without a delimiter (section 3.3).

    | text | text_pair | choices | candidates                         |
    |------|-----------|---------|------------------------------------|
    | 5 6  | 7         | 8, 9 8  | `s 5 6 7 $ 8 e`, `s 5 6 7 $ 9 8 e` |

    The paper does not say how long documents are handled. Here their end is
    truncated, by the same amount for all choices, so that these share
    everything before the delimiter. Choices are truncated only beyond
    `max_sequence_length // 2 - 2` tokens, a question only if it does not fit
    beside the longest choice.
    """
    limit = room(max_sequence_length, 2)
    kept = [choice[:limit] for choice in choices]
    rest = max_sequence_length - NUM_SPECIAL - max(map(len, kept))
    question = text_pair[:rest]
    document = text[: rest - len(question)]
    context = [*document, *question]
    candidates = [_join(tokenizer, context, choice) for choice in kept]
    before, after = (text, text_pair, *choices), (document, question, *kept)
    return Sequences(candidates, _num_ids(before) - _num_ids(after))


def pad(examples, *, length):
    """Return candidate sequences as a batch, padded with id 0 on the right.

    | candidates | token_ids   | token_weights | extract_position |
    |------------|-------------|---------------|------------------|
    | s 5 6 e    | s 5 6 e 0 0 | 0 1 1 1 0 0   | 3                |

    Padding has no weight in a loss, and no position before it sees it.
    `examples` are `B` lists of `C` lists of ids, none longer than `length`.
    """
    shape = (len(examples), len(examples[0]), length)
    token_ids = np.zeros(shape, "int32")
    token_weights = np.zeros(shape, "float32")
    extract_position = np.zeros(shape[:2], "int32")
    for i, candidates in enumerate(examples):
        for j, ids in enumerate(candidates):
            token_ids[i, j, : len(ids)] = ids
            token_weights[i, j, 1 : len(ids)] = 1.0
            extract_position[i, j] = len(ids) - 1
    return batches.as_batch(token_ids, token_weights, extract_position)


def _join(tokenizer, *texts):
    """Join lists of ids as `s text e` or `s text $ text e`."""
    marks = (tokenizer.start_id, tokenizer.delimiter_id)
    parts = ([mark, *text] for mark, text in zip(marks, texts))
    return [*itertools.chain(*parts), tokenizer.extract_id]


def _truncate_pair(text, text_pair, max_sequence_length):
    pair, limit = (text, text_pair), room(max_sequence_length, 2)
    kept = [text[:limit] for text in pair]
    return *kept, _num_ids(pair) - _num_ids(kept)


def room(max_sequence_length, num_texts):
    """Return the largest number of tokens of a text, alone or one of two."""
    limit = max_sequence_length // num_texts - 2
    if limit < 1:
        raise errors.InputError(
            f"`sequence_length` {max_sequence_length} leaves no room for text:"
            f" give at least {3 * num_texts}"
        )
    return limit


def _num_ids(texts):
    return sum(map(len, texts))
