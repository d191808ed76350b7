"""`data.transforms` as TensorFlow graphs.

Every transform takes `text` and `text_pair` as ragged ids `[B, (ids)]` and
`choices` as `Choices`, and returns `Candidates`.
"""

import typing

import tensorflow as tf

from gpt1_keras.data import transforms


class Choices(typing.NamedTuple):
    """The choices of all examples, one after another."""

    ids: tf.RaggedTensor  # int32 [B * C, (ids)]
    num_choices: tf.Tensor  # int32 scalar, C


class Candidates(typing.NamedTuple):
    """Candidate sequences, and which examples were truncated (`is_cut`)."""

    token_ids: tf.Tensor  # int32 [B, C, T], padded with 0 to the longest
    extract_position: tf.Tensor  # int32 [B, C]
    is_cut: tf.Tensor  # bool [B]


def classification(text, *, tokenizer, max_sequence_length, **_):
    """`s text e`"""
    kept = _truncate(text, transforms.room(max_sequence_length, 1))
    return _candidates(_join(tokenizer, kept), 1, _is_cut(text, kept))


def entailment(text, text_pair, *, tokenizer, max_sequence_length, **_):
    """`s text $ text_pair e`"""
    *pair, is_cut = _truncate_pair(text, text_pair, max_sequence_length)
    return _candidates(_join(tokenizer, *pair), 1, is_cut)


def similarity(text, text_pair, *, tokenizer, max_sequence_length, **_):
    """`s text $ text_pair e` and `s text_pair $ text e`"""
    *pair, is_cut = _truncate_pair(text, text_pair, max_sequence_length)
    both = [_join(tokenizer, *pair), _join(tokenizer, *pair[::-1])]
    # [B, (ids)] -> [B, 2, (ids)] -> [B * 2, (ids)]
    return _candidates(tf.stack(both, axis=1).merge_dims(0, 1), 2, is_cut)


def multiple_choice(
    text, text_pair, choices, *, tokenizer, max_sequence_length
):
    """`s text text_pair $ choice e` for each choice."""
    flat, num_choices = choices
    kept = _truncate(flat, transforms.room(max_sequence_length, 2))
    # [B * C] -> [B, C] -> [B]
    shape = [-1, num_choices]
    longest = tf.reduce_max(tf.reshape(_length(kept), shape), axis=1)
    is_cut = tf.reduce_any(tf.reshape(_is_cut(flat, kept), shape), axis=1)
    rest = max_sequence_length - transforms.NUM_SPECIAL - longest
    question = _truncate(text_pair, rest)
    document = _truncate(text, rest - _length(question))
    is_cut |= _is_cut(text_pair, question) | _is_cut(text, document)
    # [B, (ids)] -> [B * C, (ids)]
    context = tf.gather(
        tf.concat([document, question], axis=1),
        tf.repeat(tf.range(tf.size(longest)), num_choices),
    )
    rows = _join(tokenizer, context, kept)
    return _candidates(rows, num_choices, is_cut)


def _candidates(rows, num_candidates, is_cut):
    """Ragged `[B * C, (ids)]` -> Candidates."""
    token_ids = dense(rows)
    shape = [-1, num_candidates]
    return Candidates(
        tf.reshape(token_ids, [*shape, tf.shape(token_ids)[1]]),
        tf.reshape(_length(rows) - 1, shape),
        is_cut,
    )


def dense(rows, least=1):
    """Return ragged `[B, (ids)]` padded with 0 to `[B, T]`, `T >= least`.

    Networks need a position even in an empty batch.
    """
    token_ids = rows.to_tensor(0)
    missing = tf.maximum(least - tf.shape(token_ids)[1], 0)
    return tf.pad(token_ids, [[0, 0], [0, missing]])


def _join(tokenizer, *texts):
    """Join ragged `[N, (ids)]` as `s text e` or `s text $ text e`."""
    parts = []
    for text, mark in zip(texts, (tokenizer.start_id, tokenizer.delimiter_id)):
        parts += [tf.fill([text.nrows(), 1], mark), text]
    parts.append(tf.fill([texts[0].nrows(), 1], tokenizer.extract_id))
    return tf.concat(parts, axis=1)


def _truncate_pair(text, text_pair, max_sequence_length):
    limit = transforms.room(max_sequence_length, 2)
    kept = _truncate(text, limit), _truncate(text_pair, limit)
    return *kept, _is_cut(text, kept[0]) | _is_cut(text_pair, kept[1])


def _is_cut(ids, kept):
    return _length(kept) < _length(ids)


def _truncate(ids, limit):
    """Keep the first `limit` ids of each row: an int, or ints `[B]`."""
    lengths = tf.minimum(_length(ids), limit)
    return tf.RaggedTensor.from_tensor(ids.to_tensor(), lengths)


def _length(ids):
    return tf.cast(ids.row_lengths(), tf.int32)
