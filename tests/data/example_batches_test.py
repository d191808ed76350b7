import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data import example_batches


class Encoded:
    """Examples of one candidate; the id says which example it is."""

    num_cut = 0

    def __init__(self, lengths):
        self.lengths = self.num_tokens = np.array(lengths)

    def spec(self, batch_size):
        return {"token_ids": ((batch_size, 1, None), "int32")}

    def batch(self, rows, length):
        token_ids = np.zeros((len(rows), 1, length), "int32")
        for i, row in enumerate(rows):
            token_ids[i, 0, : self.lengths[row]] = row + 1
        return {"token_ids": token_ids}


def training(lengths, *, batch_size=4, seed=1, **more):
    return example_batches.TrainingExamples(
        Encoded(lengths),
        np.arange(len(lengths)) * 10,
        batch_size=batch_size,
        seed=seed,
        **{"bucket_lengths": (8, 16), "pool_batches": 2} | more,
    )


def examples_of(batch):
    return (batch["token_ids"][:, 0, 0] - 1).tolist()


@hypothesis.given(
    lengths=st.lists(st.integers(1, 20), min_size=4, max_size=50),
    pool_batches=st.integers(1, 5),
    seed=st.integers(0, 100),
)
def test_an_epoch_has_every_example_once(lengths, pool_batches, seed):
    batches = training(lengths, pool_batches=pool_batches, seed=seed)
    assert batches.steps_per_epoch == len(lengths) // 4
    for epoch in range(2):
        first = epoch * batches.steps_per_epoch
        seen = []
        for step in range(first, first + batches.steps_per_epoch):
            batch = batches(step)
            seen += examples_of(batch)
            np.testing.assert_equal(
                batch["labels"], np.array(examples_of(batch)) * 10
            )
            assert batch["token_ids"].shape[2] in (8, 16, *range(17, 21))
        assert len(seen) == len(set(seen)) == len(lengths) // 4 * 4


def test_order_is_a_function_of_seed_and_step():
    lengths = np.arange(40) % 7 + 1
    forward = [examples_of(training(lengths)(step)) for step in range(20)]
    batches = training(lengths)
    assert forward == [examples_of(batches(s)) for s in range(20)[::-1]][::-1]
    other = training(lengths, seed=2)
    assert forward != [examples_of(other(step)) for step in range(20)]
    # Another epoch, other batches, not the same ones in another order.
    one, two = (set(map(frozenset, e)) for e in (forward[:10], forward[10:]))
    assert one != two


def test_larger_pools_pad_less():
    lengths = np.random.default_rng(0).integers(2, 100, size=256)
    padded = {}
    for pool in (1, 16):
        batches = training(
            lengths, batch_size=8, pool_batches=pool, bucket_lengths=()
        )
        padded[pool] = sum(batches(s)["token_ids"].size for s in range(32))
    assert padded[16] < 1.15 * lengths.sum() < padded[1]


def test_batches_of_an_epoch():
    lengths = np.arange(64) + 1
    batches = training(lengths, pool_batches=16, bucket_lengths=())
    found = [batches(step)["token_ids"].shape[2] for step in range(16)]
    assert found != sorted(found) and found != sorted(found)[::-1]
    again = [batches(step)["token_ids"].shape[2] for step in range(16, 32)]
    assert found != again
    assert training([8] * 4)(0)["token_ids"].shape[2] == 8
    assert training([3] * 12).tokens_per_step == 12.0
    batches = training([3, 9, 4, 20])
    batch = batches(0)
    assert batch.keys() == batches.spec.keys()
    for name, (shape, dtype) in batches.spec.items():
        assert batch[name].dtype == dtype
        for got, said in zip(batch[name].shape, shape, strict=True):
            assert said in (None, got)
    with pytest.raises(errors.InputError, match="3 training .* lower `batch"):
        training([1, 2, 3])


@hypothesis.given(
    lengths=st.lists(st.integers(1, 20), min_size=1, max_size=30),
    batch_size=st.integers(1, 7),
)
def test_scored_examples_come_back_in_their_order(lengths, batch_size):
    batches = example_batches.ScoredExamples(
        Encoded(lengths), batch_size=batch_size, bucket_lengths=(4, 8, 16)
    )
    assert batches(0)["token_ids"].shape[2] >= max(lengths)  # longest first
    results = np.concatenate(
        [batches(step)["token_ids"][:, 0, :1] for step in range(len(batches))]
    )
    assert len(results) == len(batches) * batch_size
    restored = batches.restore(results)
    np.testing.assert_equal(restored[:, 0], np.arange(len(lengths)) + 1)
