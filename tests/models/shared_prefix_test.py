"""Continuations with a shared prefix against each one read alone and whole."""

import numpy as np
import pytest
from keras import ops

from gpt1_keras.data import example_batches
from gpt1_keras.data import loaders
from gpt1_keras.data import packing
from gpt1_keras.models import shared_prefix
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from tests.reference import numpy_gpt1
from tests.reference import small_models


def items():
    draws = np.random.default_rng(0)

    def ids(low, high):
        return draws.integers(0, 23, draws.integers(low, high)).tolist()

    return [
        packing.Candidates(
            ids(1, 7),
            tuple(
                packing.Continuation(ids(1, 5), int(draws.integers(2)))
                for _ in range(draws.integers(1, 5))
            ),
        )
        for _ in range(7)
    ]


def expected(network, chosen):
    """Sum, count and whether all are likeliest, from whole sequences."""
    table = small_models.read(
        network.token_and_position_embedding.token_embeddings
    )
    found = []
    for item in chosen:
        for continuation in item.continuations:
            ids = np.array([[*item.prefix, *continuation.ids]], "int32")
            (hidden,) = small_models.read(network(small_models.inputs(ids)))
            log_p = numpy_gpt1.log_softmax(hidden @ table.T)
            start = len(item.prefix) + continuation.num_context
            scored = [(t - 1, ids[0, t]) for t in range(start, ids.shape[1])]
            found.append(
                (
                    sum(log_p[t, i] for t, i in scored),
                    len(scored),
                    all(log_p[t].argmax() == i for t, i in scored),
                )
            )
    return zip(*found)


@pytest.mark.parametrize(
    "build, num_special_tokens, share_prefix, batch_size, bucket_lengths",
    [
        (small_models.network, 0, True, 3, ()),
        (small_models.network, 3, True, 7, (24,)),
        (small_models.lstm_network, 0, False, 4, (12,)),
    ],
)
def test_scores_of_continuations(
    build, num_special_tokens, share_prefix, batch_size, bucket_lengths
):
    network = build(num_special_tokens=num_special_tokens)
    assert network.can_share_prefix == (build is small_models.network)
    chosen = items()
    packed = packing.PackedCandidates(chosen, share_prefix=share_prefix)
    learner = learner_lib.Learner(
        shared_prefix.shared_prefix_network(network),
        scorer=losses.BranchScores(
            num_branches=packed.num_branches, chunk_size=5
        ),
    )
    batches = example_batches.ScoredExamples(
        packed, batch_size=batch_size, bucket_lengths=bucket_lengths
    )
    found = learner.predict(
        loaders.load(batches, first_step=0, num_steps=len(batches)), verbose=0
    )
    names = ("log_probability", "num_tokens", "num_likeliest")
    scores = packed.scores(*(batches.restore(found[name]) for name in names))
    total, count, likeliest = expected(network, chosen)
    for name, values in (
        ("log_probability", total),
        ("num_tokens", count),
        ("is_likeliest", likeliest),
    ):
        got = np.concatenate([getattr(score, name) for score in scores])
        np.testing.assert_allclose(got, values, atol=1e-4, err_msg=name)


def test_mask_table():
    allowed = shared_prefix.SeesPrefixAndBranch()(np.array([[0, 0, 1, 2, 2]]))
    np.testing.assert_equal(
        ops.convert_to_numpy(allowed)[0].astype(int),
        [
            [1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 0, 1, 0],
            [1, 1, 0, 1, 1],
        ],
    )
