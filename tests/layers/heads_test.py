import numpy as np
import pytest

from gpt1_keras.layers import heads
from tests.reference import small_models


def make(head, num_outputs, dropout=0.0):
    layer = getattr(heads, head)(
        num_outputs=num_outputs, dropout=dropout, initializer_range=0.02
    )
    return small_models.built(layer, 16)


def dense(head, x):
    kernel = small_models.read(head.dense.kernel)
    return x @ kernel + small_models.read(head.dense.bias)


@pytest.mark.parametrize("candidates", [1, 2])
def test_sum_head_adds_before_the_linear_layer(candidates):
    head, x = make("SumHead", 3), small_models.states(4, candidates, 16)
    # Adding after it would count the bias twice.
    expected = dense(head, x.astype("f8").sum(axis=1))
    small_models.assert_close(head(x), expected)
    np.testing.assert_array_equal(
        small_models.read(head(x)), small_models.read(head(x[:, ::-1].copy()))
    )


def test_sum_head_drops_the_sum():
    head = make("SumHead", 16, 0.5)
    head.dense.kernel.assign(np.eye(16, dtype="float32"))
    head.dense.bias.assign(np.zeros(16, "float32"))
    x = small_models.states(40, 2, 16)
    got = small_models.read(head(x, training=True))
    small_models.assert_half_dropped(got, x.astype("f8").sum(axis=1))


def test_choice_head_scores_each_candidate():
    head, x = make("ChoiceHead", 1), small_models.states(4, 2, 16)
    expected = dense(head, x.astype("f8"))[..., 0]
    assert expected.shape == (4, 2)
    small_models.assert_close(head(x), expected)


def test_choice_head_drops_the_same_features_of_all_candidates():
    head = make("ChoiceHead", 1, 0.5)
    # The logit encodes bit by bit which of the 16 features were kept.
    bits = 2.0 ** np.arange(16, dtype="float32")
    head.dense.kernel.assign(bits[:, None])
    head.dense.bias.assign(np.zeros(1, "float32"))
    ones = np.ones((4, 4, 16), "float32")
    got = small_models.read(head(ones, training=True))
    assert np.all(got == got[:, :1])
    assert len(np.unique(got[:, 0])) == 4
    assert np.all(got % 2 == 0) and np.all(got < 2**17)
    assert np.any(small_models.read(head(ones, training=True)) != got)
