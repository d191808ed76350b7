"""Their logits without dropout: task_model_test.py."""

import keras
import numpy as np

from gpt1_keras.layers import heads
from tests.reference import small_models


def make(cls, num_outputs, **options):
    options |= {"dropout": 0.5, "initializer_range": 0.02}
    return small_models.built(cls(num_outputs=num_outputs, **options), 16)


def test_sum_head_drops_the_sum():
    head = make(heads.SumHead, 16)
    head.dense.kernel.assign(np.eye(16, dtype="float32"))
    head.dense.bias.assign(np.zeros(16, "float32"))
    x = small_models.states(40, 2, 16)
    got = small_models.read(head(x, training=True))
    small_models.assert_half_dropped(got, x.astype("f8").sum(axis=1))


def test_sum_head_gives_scores_of_any_unit():
    x = small_models.states(40, 2, 16)
    head, scores = (
        make(heads.SumHead, 1, score_range=r) for r in (None, [10, 30])
    )
    scores.dense.kernel.assign(head.dense.kernel)
    logits, got = (small_models.read(each(x)) for each in (head, scores))
    np.testing.assert_allclose(got, 20 + 10 * logits, rtol=1e-6)


def test_choice_head_drops_the_same_features_of_all_candidates():
    head = make(heads.ChoiceHead, 1, dtype="mixed_bfloat16")
    # The logit encodes bit by bit which of the 16 features were kept.
    bits = 2.0 ** np.arange(16, dtype="float32")
    head.dense.kernel.assign(bits[:, None])
    head.dense.bias.assign(np.zeros(1, "float32"))
    ones = np.ones((4, 4, 16), "float32")
    logits = head(ones, training=True)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    got = small_models.read(logits)
    assert np.all(got == got[:, :1])
    assert len(np.unique(got[:, 0])) == 4
    assert np.all(got % 2 == 0) and np.all(got < 2**17)
