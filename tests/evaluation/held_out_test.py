import math

import numpy as np
import pytest

from gpt1_keras.evaluation import held_out
from gpt1_keras.models import task_model
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from tests.reference import numpy_gpt1
from tests.reference import small_models

T = 7


def test_of_a_network_equals_numpy():
    backbone = small_models.network()
    language_model = losses.LanguageModelLoss(chunk_size=16)
    scored = learner_lib.Learner(
        task_model.GPT1TaskModel(backbone),
        loss=language_model,
        scorer=language_model,
        clip_norm=1.0,
    )
    scored.compile("sgd", jit_compile=False)
    ids = small_models.token_ids(6, T)
    weights = np.ones((6, T), "float32")
    weights[:, 0] = 0
    # Sequences of unequal length; the last is a filled-up row of a batch.
    weights[1, 4:] = weights[3, 2:] = weights[5] = 0
    batch = {"token_ids": ids[:, None], "token_weights": weights[:, None]}
    predict = scored.predict
    scored.predict = lambda x, **kwargs: predict(x, batch_size=6, **kwargs)
    found = held_out.perplexity(scored, batch, num_words=9, num_bytes=50)

    arrays = small_models.released_arrays(backbone)
    hidden = numpy_gpt1.hidden_states(
        arrays, ids, num_positions=12, num_layers=2, num_heads=2
    )
    log_p = numpy_gpt1.log_softmax(hidden[:, :-1] @ arrays["we"][:26].T)
    log_p = np.take_along_axis(log_p, ids[:, 1:, None], axis=2)[..., 0]
    total, tokens = np.sum(log_p * weights[:, 1:]), 6 + 3 + 6 + 1 + 6
    assert found == {
        "loss": pytest.approx(-total / tokens, abs=1e-5),
        "perplexity": pytest.approx(math.exp(-total / tokens), rel=1e-5),
        "word_perplexity": pytest.approx(math.exp(-total / 9), rel=1e-5),
        "bits_per_byte": pytest.approx(-total / math.log(2) / 50, rel=1e-5),
        "tokens": tokens,
        "words": 9,
    }
