"""Continuations with a shared prefix against each one read alone and whole."""

import keras
import numpy as np
import pytest
from scipy import special

from gpt1_keras.data import example_batches
from gpt1_keras.data import examples
from gpt1_keras.data import loaders
from gpt1_keras.data import packing
from gpt1_keras.data import transforms
from gpt1_keras.models import shared_prefix
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from tests.reference import small_models
from tests.reference import tiny_learner
from tests.reference import tiny_runs


def items():
    draws = np.random.default_rng(0)

    def ids(low, high):
        return draws.integers(0, 23, draws.integers(low, high)).tolist()

    return [
        packing.Candidates(
            ids(1, 7),
            [(ids(0, 2), ids(1, 4)) for _ in range(draws.integers(1, 5))],
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
        for read, scored in item.continuations:
            ids = np.array([[*item.prefix, *read, *scored]], "int32")
            (hidden,) = small_models.run(network, ids)
            log_p = special.log_softmax(hidden @ table.T, axis=-1)
            start = len(item.prefix) + len(read)
            scored = [(t - 1, ids[0, t]) for t in range(start, ids.shape[1])]
            total = sum(log_p[t, i] for t, i in scored)
            is_likeliest = all(log_p[t].argmax() == i for t, i in scored)
            found.append((total, len(scored), is_likeliest))
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
    scores = packed.scores({k: batches.restore(v) for k, v in found.items()})
    names = ("log_probability", "num_tokens", "is_likeliest")
    for name, values in zip(names, expected(network, chosen)):
        got = np.concatenate([getattr(score, name) for score in scores])
        np.testing.assert_allclose(got, values, atol=1e-4, err_msg=name)


class Digits:
    start_id, delimiter_id, extract_id = 23, 24, 25

    def encode(self, text):
        return list(map(int, text.split()))


# Answers that differ in length, begin alike, or are the same; truncation.
QUESTIONS = [
    examples.Example("1 2 3", "4", ("5 6", "5 7 8"), 0),
    examples.Example("9", "", ("10", "10"), 1),
    examples.Example("1 2 3 4 5 6 7 8 9", "4", ("5", "6"), 1),
    examples.Example("", "3", ("11 12", "11 12 13"), 0),
]


def trained(*, packed, microbatch_size):
    """Loss, gradients and logits of one step on QUESTIONS."""
    keras.utils.set_random_seed(0)
    training = tiny_runs.fine_tuning(
        microbatch_size=microbatch_size,
        clip_norm=0.0,
        classifier_dropout=0.0,
        initializer_range=0.3,
    )
    race = benchmarks.benchmark("race")
    network = training.build_network(
        race, small_models.network(), small_models.byte_pairs()
    )
    learner = training.build_learner(network, race, share_prefix=packed)
    learner.compile(keras.optimizers.SGD(1.0))
    build = packing.PackedExamples if packed else examples.EncodedExamples
    encoded = build(
        QUESTIONS,
        tokenizer=Digits(),
        transform=transforms.multiple_choice,
        max_sequence_length=12,
        name="questions",
    )
    before = tiny_learner.weights_of(learner)
    batch = encoded.batch(range(4), 16)
    logits = learner.predict(batch, batch_size=4, verbose=0)["logits"]
    labels = np.array([row.label for row in QUESTIONS], "int32")
    logs = tiny_learner.update(learner, batch | {"labels": labels})
    after = tiny_learner.weights_of(learner)
    gradients = {path: before[path] - after[path] for path in before}
    return logs, gradients, logits, encoded


def test_shared_documents_change_neither_loss_nor_gradient_nor_logits():
    loss, gradients, logits, encoded = trained(packed=True, microbatch_size=2)
    expected = trained(packed=False, microbatch_size=None)
    assert encoded.lengths.tolist() == encoded.num_tokens.tolist()
    # The longest common prefix, and the rest of both.
    assert encoded.lengths.tolist() == [7 + 2 + 3, 4 + 2, 10 + 4, 5 + 1 + 2]
    assert encoded.num_cut == expected[3].num_cut == 1
    np.testing.assert_allclose(logits, expected[2], atol=1e-5)
    assert np.ptp(logits) > 0.1
    assert sum(np.abs(each).max() > 1e-3 for each in gradients.values()) > 20
    for ours, theirs in zip((loss, gradients), expected):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            assert value == pytest.approx(theirs[name], abs=1e-5), name
