"""Ids that users send, checked before a network looks them up."""

import tensorflow as tf


def check_ids(token_ids, network):
    """Refuse ids and lengths that a network has no rows for.

    Some devices answer such ids with zeros, and negative ones count from the
    end: nobody would notice.

    Args:
        token_ids: int32 `[..., T]`.
        network: a Keras model with a `backbone`.

    Returns:
        `token_ids`; whoever uses them raises `InvalidArgumentError`.
    """
    backbone = network.backbone
    num_ids = backbone.vocabulary_size + backbone.num_special_tokens
    longest = backbone.max_sequence_length
    checks = [
        tf.debugging.assert_non_negative(
            token_ids, f"token_ids must be 0 to {num_ids - 1}"
        ),
        tf.debugging.assert_less(
            token_ids, num_ids, f"token_ids must be 0 to {num_ids - 1}"
        ),
        tf.debugging.assert_less_equal(
            tf.shape(token_ids)[-1],
            longest,
            f"token_ids must have at most {longest} positions",
        ),
    ]
    with tf.control_dependencies([check for check in checks if check]):
        return tf.identity(token_ids)


def check_positions(extract_position, token_ids):
    """Refuse positions outside the sequences.

    Args:
        extract_position: int32 `[B, C]`.
        token_ids: int32 `[B, C, T]`.

    Returns:
        `extract_position`, as `check_ids` does.
    """
    shape = tf.shape(token_ids)
    checks = [
        tf.debugging.assert_equal(
            tf.shape(extract_position),
            shape[:-1],
            "extract_position must be [B, C] for token_ids [B, C, T]",
        ),
        tf.debugging.assert_non_negative(
            extract_position, "extract_position must not be negative"
        ),
        tf.debugging.assert_less(
            extract_position,
            shape[-1],
            "extract_position must be less than T of token_ids [B, C, T]",
        ),
    ]
    with tf.control_dependencies([check for check in checks if check]):
        return tf.identity(extract_position)
