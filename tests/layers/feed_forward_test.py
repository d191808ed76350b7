"""Its values: decoder_block_test.py."""

from gpt1_keras.layers import feed_forward
from tests.reference import small_models


def test_the_output_is_dropped():
    layer = feed_forward.FeedForward(
        hidden_dim=8,
        intermediate_dim=20,
        residual_dropout=0.5,
        initializer_range=0.02,
    )
    layer, x = small_models.built(layer), small_models.states(6, 7, 8)
    dropped = small_models.read(layer(x, training=True))
    small_models.assert_half_dropped(dropped, small_models.read(layer(x)))
