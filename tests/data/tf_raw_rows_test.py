import copy
import functools

import numpy as np
import pytest

from gpt1_keras.data import example_batches
from gpt1_keras.data import examples
from gpt1_keras.data import loaders
from gpt1_keras.data import transforms
from gpt1_keras.text import train_vocabulary

pytest.importorskip("tensorflow")

from gpt1_keras.data import tf_raw_rows  # noqa: E402

B, T = 4, 24
DRAWS = np.random.default_rng(0)
WORDS = "The old captain didn't walk near Mr. Gate, — “no”, she said...".split()


def text(longest):
    return " ".join(DRAWS.choice(WORDS, DRAWS.integers(1, longest)))


EXAMPLES = [
    examples.Example(text(9), text(9), (text(4), text(4), text(15)), 0)
    for _ in range(22)
]
LABELS = np.arange(22)
# No sequence is longer than T, whatever the buckets.
BUCKETS = {"classification": (8, 16), "multiple_choice": (8, 32)}
ORDER = {"batch_size": B, "seed": 3, "pool_batches": 2}


@pytest.fixture(scope="module")
def tokenizer():
    return train_vocabulary.train_bpe(
        [e.text for e in EXAMPLES], vocabulary_size=70
    )


def of(transform):
    """The examples with the fields that the transform reads."""
    if transform == "classification":
        return [examples.Example(e.text) for e in EXAMPLES]
    return EXAMPLES


@functools.cache
def batches_of(tokenizer, transform="classification"):
    """Batches, built once: a tokenizer's graph takes seconds."""
    return tf_raw_rows.RawTrainingExamples(
        of(transform),
        LABELS,
        tokenizer=tokenizer,
        transform=transform,
        max_sequence_length=T,
        bucket_lengths=BUCKETS[transform],
        **ORDER,
    )


def read(batches, first_step, num_steps):
    loaded = loaders.load(batches, first_step=first_step, num_steps=num_steps)
    assert int(loaded.cardinality()) == num_steps
    return list(loaded.as_numpy_iterator())


@pytest.mark.parametrize("transform", ["classification", "multiple_choice"])
def test_a_batch_is_what_the_python_pipeline_makes_of_its_rows(
    tokenizer, transform
):
    batches = batches_of(tokenizer, transform)
    encoded = examples.EncodedExamples(
        of(transform),
        tokenizer=tokenizer,
        transform=getattr(transforms, transform),
        max_sequence_length=T,
        name="x",
    )
    characters = [
        len(e.text) + len(e.text_pair) + max(map(len, e.choices), default=0)
        for e in of(transform)
    ]
    by_characters = copy.copy(encoded)
    by_characters.lengths = np.array(characters)
    sorted_so = example_batches.TrainingExamples(
        by_characters, LABELS, bucket_lengths=(), **ORDER
    )
    num_tokens = 0
    assert batches.steps_per_epoch == 5
    for step, batch in enumerate(read(batches, 0, 5)):
        rows = batch["labels"].tolist()
        assert rows == sorted_so.order(step).tolist()
        num_tokens += encoded.num_tokens[rows].sum()
        length = batch["token_ids"].shape[-1]
        longest = encoded.lengths[rows].max()
        fitting = [n for n in BUCKETS[transform] if n >= longest] or [longest]
        assert length == min(*fitting, T)
        expected = encoded.batch(rows, length)
        assert set(batch) == {*expected, "labels"}
        for name, array in expected.items():
            assert batch[name].dtype == array.dtype
            np.testing.assert_array_equal(batch[name], array, err_msg=name)
    assert encoded.num_cut or transform == "classification"
    assert num_tokens / 5 == pytest.approx(batches.tokens_per_step, rel=0.1)


def test_a_batch_is_a_function_of_seed_and_step(tokenizer):
    batches = batches_of(tokenizer)
    whole = read(batches, 0, 36)
    # Step 32 begins another call of the tokenizer.
    for first, count in ((7, 5), (31, 3)):
        again = read(batches, first, count)
        np.testing.assert_equal(again, whole[first : first + count])
    labels = [batch["labels"].tolist() for batch in whole]
    assert labels[:5] != labels[5:10]
