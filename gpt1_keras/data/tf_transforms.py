"""`data.transforms` as TensorFlow graphs.

Every transform is a function

    transform(text, text_pair, choices, *, special_ids, max_sequence_length)
        -> Candidates

of ragged ids `text` and `text_pair` `[B, (ids)]`; `choices` is a `Choices`.
See `data.transforms` for the sequences and their truncation.
"""

import typing

import tensorflow as tf

_NUM_SPECIAL = 3


class SpecialIds(typing.NamedTuple):
    start: int
    delimiter: int
    extract: int


class Choices(typing.NamedTuple):
    """The choices of all examples, one after another."""

    ids: tf.RaggedTensor  # int32 [B * C, (ids)]
    num_choices: tf.Tensor  # int32 scalar, C


class Candidates(typing.NamedTuple):
    """What a transform returns; `is_cut`: the example was truncated."""

    token_ids: tf.Tensor  # int32 [B, C, T], padded with 0 to the longest
    extract_position: tf.Tensor  # int32 [B, C]
    is_cut: tf.Tensor  # bool [B]


def classification(text, *, special_ids, max_sequence_length, **_):
    """`s text e`"""
    kept = _truncate(text, max_sequence_length - 2)
    rows = [_join([special_ids.start], kept, [special_ids.extract])]
    return _candidates(rows, _length(text) > _length(kept))


def entailment(text, text_pair, *, special_ids, max_sequence_length, **_):
    """`s text $ text_pair e`"""
    pair, is_cut = _truncate_pair(text, text_pair, max_sequence_length)
    return _candidates([_join_pair(*pair, special_ids)], is_cut)


def similarity(text, text_pair, *, special_ids, max_sequence_length, **_):
    """`s text $ text_pair e` and `s text_pair $ text e`"""
    pair, is_cut = _truncate_pair(text, text_pair, max_sequence_length)
    both = [
        _join_pair(*pair, special_ids),
        _join_pair(*pair[::-1], special_ids),
    ]
    return _candidates(both, is_cut)


def multiple_choice(
    text, text_pair, choices, *, special_ids, max_sequence_length
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
    token_ids, position = _dense(_join_pair(context, kept, special_ids))
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
    token_ids = rows.to_tensor(0)
    # Networks need a position even in an empty batch.
    missing = tf.maximum(1 - tf.shape(token_ids)[1], 0)
    token_ids = tf.pad(token_ids, [[0, 0], [0, missing]])
    return token_ids, _length(rows) - 1


def _join_pair(text, text_pair, special_ids):
    return _join(
        [special_ids.start],
        text,
        [special_ids.delimiter],
        text_pair,
        [special_ids.extract],
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
