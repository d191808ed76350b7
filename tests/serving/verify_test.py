import pytest

from gpt1_keras import errors
from gpt1_keras.serving import verify

COMPARED = {
    **{"identical_texts": 1.0, "identical_tokens": 1.0, "compared_rows": 3},
    **{"largest_difference": 1e-6, "same_predictions": 1.0},
}


def test_agreement():
    wanted = verify.Agreement(tolerance=1e-4, min_identical_tokens=0.999)
    wanted.check(COMPARED)
    for changes, expected in (
        ({"identical_tokens": 0.998}, "99.8000% of its tokens"),
        ({"compared_rows": 0, "largest_difference": 0.0}, "no row has"),
        ({"largest_difference": float("nan")}, "differ by nan"),
        ({"same_predictions": 0.99}, "same_predictions is 0.99"),
    ):
        with pytest.raises(errors.RunError, match=f"not published.*{expected}"):
            wanted.check(COMPARED | changes)


def test_a_model_that_cannot_be_loaded(tmp_path):
    with pytest.raises(errors.RunError, match="fails in a process without Ker"):
        verify.answers(tmp_path, [{"text": ["a"]}])
