"""`data.transforms` as TensorFlow graphs.

Every transform is a function

    transform(text, text_pair, choices, *, tokenizer, max_sequence_length)
        -> Candidates

where `text` and `text_pair` are ragged ids `[B, (ids)]` and `choices` is a
`Choices`. Sequences and truncation are those of `data.transforms`.
"""

import typing

import tensorflow as tf

_NUM_SPECIAL = 3


class Choices(typing.NamedTuple):
    """The choices of all examples, one after another."""

    ids: tf.RaggedTensor  # int32 [B * C, (ids)]
    num_choices: tf.Tensor  # int32 scalar, C


class Candidates(typing.NamedTuple):
    """Candidate sequences; `is_cut` says which examples were truncated."""

    token_ids: tf.Tensor  # int32 [B, C, T], padded with 0 to the longest
    extract_position: tf.Tensor  # int32 [B, C]
    is_cut: tf.Tensor  # bool [B]


def classification(text, *, tokenizer, max_sequence_length, **_):
    """`s text e`"""
    kept = _truncate(text, max_sequence_length - 2)
    rows = [_join([tokenizer.start_id], kept, [tokenizer.extract_id])]
    return _candidates(rows, _length(text) > _length(kept))


def entailment(text, text_pair, *, tokenizer, max_sequence_length, **_):
    """`s text $ text_pair e`"""
    pair, is_cut = _truncate_pair(text, text_pair, max_sequence_length)
    return _candidates([_join_pair(*pair, tokenizer)], is_cut)


def similarity(text, text_pair, *, tokenizer, max_sequence_length, **_):
    """`s text $ text_pair e` and `s text_pair $ text e`"""
    pair, is_cut = _truncate_pair(text, text_pair, max_sequence_length)
    both = [
        _join_pair(*pair, tokenizer),
        _join_pair(*pair[::-1], tokenizer),
    ]
    return _candidates(both, is_cut)


def multiple_choice(
    text, text_pair, choices, *, tokenizer, max_sequence_length
):
    """`s text text_pair $ choice e` for each choice."""
    flat, num_choices = choices
    kept = _truncate(flat, max_sequence_length // 2 - 2)
    # [B * C] -> [B, C] -> [B]
    longest = tf.reduce_max(
        tf.reshape(_length(kept), [-1, num_choices]), axis=1
    )
    room = max_sequence_length - _NUM_SPECIAL - longest
    question = _truncate(text_pair, room)
    document = _truncate(text, room - _length(question))
    is_cut = (
        (_length(question) < _length(text_pair))
        | (_length(document) < _length(text))
        | tf.reduce_any(
            tf.reshape(_length(kept) < _length(flat), [-1, num_choices]), axis=1
        )
    )
    # [B, (ids)] -> [B * C, (ids)]
    context = tf.gather(
        tf.concat([document, question], axis=1),
        tf.repeat(tf.range(tf.shape(longest)[0]), num_choices),
    )
    token_ids, position = _dense(_join_pair(context, kept, tokenizer))
    shape = [-1, num_choices]
    return Candidates(
        tf.reshape(token_ids, [*shape, tf.shape(token_ids)[-1]]),
        tf.reshape(position, shape),
        is_cut,
    )


def _candidates(rows, is_cut):
    """`C` ragged `[B, (ids)]` -> Candidates."""
    token_ids, position = _dense(tf.concat(rows, axis=0))
    num_candidates = len(rows)
    # [C * B, T] -> [C, B, T] -> [B, C, T]
    length = tf.shape(token_ids)[-1]
    token_ids = tf.reshape(token_ids, [num_candidates, -1, length])
    position = tf.reshape(position, [num_candidates, -1])
    return Candidates(
        tf.transpose(token_ids, [1, 0, 2]), tf.transpose(position), is_cut
    )


def _dense(rows):
    return dense(rows), _length(rows) - 1


def dense(rows):
    """Return ragged `[B, (ids)]` padded with 0 to `[B, T]`."""
    token_ids = rows.to_tensor(0)
    # Networks need a position even in an empty batch.
    missing = tf.maximum(1 - tf.shape(token_ids)[1], 0)
    return tf.pad(token_ids, [[0, 0], [0, missing]])


def _join_pair(text, text_pair, tokenizer):
    return _join(
        [tokenizer.start_id],
        text,
        [tokenizer.delimiter_id],
        text_pair,
        [tokenizer.extract_id],
    )


def _join(*parts):
    """Join ragged `[B, (ids)]` and lists of ids, row by row."""
    (size, *_) = (p.nrows() for p in parts if not isinstance(p, list))
    parts = [
        tf.repeat(tf.constant([part], tf.int32), size, axis=0)
        if isinstance(part, list)
        else part
        for part in parts
    ]
    return tf.concat(parts, axis=1)


def _truncate_pair(text, text_pair, max_sequence_length):
    limit = max_sequence_length // 2 - 2
    kept = _truncate(text, limit), _truncate(text_pair, limit)
    is_cut = _length(text) > _length(kept[0])
    return kept, is_cut | (_length(text_pair) > _length(kept[1]))


def _truncate(ids, limit):
    """Keep the first `limit` ids of each row: an int, or ints `[B]`."""
    limit = tf.maximum(tf.cast(limit, tf.int32), 0)
    place = tf.ragged.range(_length(ids))
    limit = tf.broadcast_to(limit, tf.shape(_length(ids)))
    keep = place.values < tf.repeat(limit, _length(ids))
    return tf.ragged.boolean_mask(ids, ids.with_values(keep))


def _length(ids):
    return tf.cast(ids.row_lengths(), tf.int32)
