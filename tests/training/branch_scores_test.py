import numpy as np
from keras import ops

from gpt1_keras.training import losses


def test_sums_of_each_branch():
    draws = np.random.default_rng(0)
    hidden, table = draws.normal(size=(2, 4, 3)), draws.normal(size=(6, 3))
    batch = {
        "token_ids": np.array([[1, 2, 3, 4], [5, 0, 1, 0]], "int32"),
        "branch": np.array([[0, 1, 2, 2], [0, 1, 1, -1]], "int32"),
        "token_weights": np.array([[0, 1, 1, 1], [0, 0, 1, 0]], "float32"),
    }
    logits = hidden @ table.T
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    found = losses.BranchScores(num_branches=3, chunk_size=2).score(
        {
            "hidden": ops.convert_to_tensor(hidden.astype("float32")),
            "table": ops.convert_to_tensor(table.astype("float32")),
        },
        {name: ops.convert_to_tensor(value) for name, value in batch.items()},
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["log_probability"]),
        [[log_p[0, 1, 2], log_p[0, 2, 3] + log_p[0, 3, 4], 0]]
        + [[log_p[1, 2, 1], 0, 0]],
        atol=1e-5,
    )
    np.testing.assert_equal(
        ops.convert_to_numpy(found["num_tokens"]), [[1, 2, 0], [1, 0, 0]]
    )
