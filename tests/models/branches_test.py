"""Branches against each continuation read alone, whole, without a cache."""

import numpy as np
import pytest
from keras import ops

from gpt1_keras.data import example_batches
from gpt1_keras.data import loaders
from gpt1_keras.data import packing
from gpt1_keras.models import shared_prefix
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from tests.reference import small_models


def items():
    draws = np.random.default_rng(0)

    def ids(low, high):
        size = draws.integers(low, high)
        return draws.integers(0, 23, size).tolist()

    return [
        packing.Item(
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
    pairs = [(item, c) for item in chosen for c in item.continuations]
    ids = np.zeros((len(pairs), 12), "int32")
    for row, (item, continuation) in enumerate(pairs):
        whole = [*item.prefix, *continuation.ids]
        ids[row, : len(whole)] = whole
    hidden = network.predict(small_models.inputs(ids), verbose=0)
    table = small_models.read(
        network.token_and_position_embedding.token_embeddings
    )
    logits = hidden.astype("f8") @ table.T
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    found = []
    for row, (item, continuation) in enumerate(pairs):
        start = len(item.prefix)
        end = start + len(continuation.ids)
        scored = [
            (t - 1, ids[row, t])
            for t in range(start + continuation.num_context, end)
        ]
        found.append(
            (
                sum(log_p[row, t, i] for t, i in scored),
                len(scored),
                all(logits[row, t].argmax() == i for t, i in scored),
            )
        )
    return found


def score(network, packed, **options):
    learner = learner_lib.Learner(
        shared_prefix.shared_prefix_network(network),
        scorer=losses.BranchScores(
            num_branches=packed.num_branches, chunk_size=5
        ),
    )
    batches = example_batches.ScoredExamples(packed, **options)
    found = learner.predict(
        loaders.load(batches, first_step=0, num_steps=len(batches)), verbose=0
    )
    names = ("log_probability", "num_tokens", "num_likeliest")
    return packed.scores(*(batches.restore(found[name]) for name in names))


@pytest.mark.parametrize("num_special_tokens", [0, 3])
@pytest.mark.parametrize("share_prefix", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3, "bucket_lengths": ()},
        {"batch_size": 7, "bucket_lengths": (24,)},
    ],
)
def test_scores_of_branches(num_special_tokens, share_prefix, options):
    network = small_models.network(num_special_tokens=num_special_tokens)
    chosen = items()
    packed = packing.PackedItems(chosen, share_prefix=share_prefix)
    found = score(network, packed, **options)
    total, count, likeliest = zip(*expected(network, chosen))
    np.testing.assert_allclose(
        np.concatenate([s.log_probability for s in found]), total, atol=1e-4
    )
    np.testing.assert_equal(
        np.concatenate([s.num_tokens for s in found]), count
    )
    np.testing.assert_equal(
        np.concatenate([s.is_likeliest for s in found]), likeliest
    )


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
