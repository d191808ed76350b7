import numpy as np
import pytest
from scipy import special

from gpt1_keras.evaluation import text_view
from gpt1_keras.models import builders
from tests.reference import numpy_gpt1
from tests.reference import small_models


def released(network, ids, **options):
    """Hidden states by the released equations."""
    arrays = small_models.released_arrays(network)
    return numpy_gpt1.hidden_states(arrays, [ids], **options)[0]


@pytest.mark.parametrize("ids", [[5], [4, 4, 9, 11, 2, 10]])
def test_numbers_are_those_of_the_released_equations(ids):
    network, shares = small_models.network(vocabulary_size=60), []
    released(network, ids, shares=shares)
    found = text_view.attention(network, ids)
    assert found.shape == (2, 2, len(ids), len(ids))
    expected = np.reshape(shares, found.shape)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    model = builders.gpt1_causal_lm(network, small_models.byte_pairs())
    tokens = small_models.released_arrays(network)["we"][:60]
    opening = small_models.byte_pairs().opening_id
    hidden = released(network, [opening, *ids[:-1]])
    expected = special.log_softmax(hidden @ tokens.T, axis=-1)
    found = text_view.log_probabilities(model, ids)
    small_models.assert_close(found, expected[range(len(ids)), ids], 1e-4)
