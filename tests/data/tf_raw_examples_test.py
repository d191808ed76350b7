import numpy as np
import pytest

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


@pytest.fixture(scope="module")
def tokenizer():
    return train_vocabulary.train_bpe(
        [e.text for e in EXAMPLES], vocabulary_size=70
    )


def of(transform):
    """The examples with the fields that the transform reads."""
    return [
        examples.Example(
            e.text,
            "" if transform == "classification" else e.text_pair,
            e.choices if transform == "multiple_choice" else (),
            e.label,
        )
        for e in EXAMPLES
    ]


def make(tokenizer, transform="classification", **changes):
    settings = {
        "tokenizer": tokenizer,
        "transform": transform,
        "max_sequence_length": T,
        "batch_size": B,
        "seed": 3,
        "bucket_lengths": (8, 16),
        "pool_batches": 2,
    }
    return tf_raw_rows.RawTrainingExamples(
        of(transform), LABELS, **settings | changes
    )


def read(batches, first_step, num_steps):
    loaded = loaders.load(batches, first_step=first_step, num_steps=num_steps)
    assert int(loaded.cardinality()) == num_steps
    return list(loaded.as_numpy_iterator())


@pytest.mark.parametrize(
    "transform",
    ["classification", "entailment", "similarity", "multiple_choice"],
)
def test_a_batch_is_what_the_python_pipeline_makes_of_its_rows(
    tokenizer, transform
):
    batches = make(tokenizer, transform)
    encoded = examples.EncodedExamples(
        of(transform),
        tokenizer=tokenizer,
        transform=getattr(transforms, transform),
        max_sequence_length=T,
        name="x",
    )
    seen = []
    for batch in read(batches, 0, batches.steps_per_epoch):
        rows = batch["labels"].tolist()
        seen += rows
        length = batch["token_ids"].shape[-1]
        longest = encoded.lengths[rows].max()
        assert length == min([n for n in (8, 16) if n >= longest] or [longest])
        expected = encoded.batch(rows, length)
        assert set(batch) == {*expected, "labels"}
        for name, array in expected.items():
            assert batch[name].dtype == array.dtype
            np.testing.assert_array_equal(batch[name], array, err_msg=name)
    assert len(seen) == len(set(seen)) == 20
    assert encoded.num_cut or transform == "classification"


def test_a_batch_is_one_of_seed_and_step(tokenizer):
    whole = read(make(tokenizer), 0, 12)
    for ours, again in zip(whole[7:], read(make(tokenizer), 7, 5)):
        for name in ours:
            np.testing.assert_array_equal(ours[name], again[name])
    # Also where one call of the tokenizer ends and the next begins.
    (last,) = read(make(tokenizer), 35, 1)
    *_, same = read(make(tokenizer), 0, 36)
    np.testing.assert_array_equal(last["token_ids"], same["token_ids"])
    other = read(make(tokenizer, seed=4), 0, 12)
    assert [b["labels"].tolist() for b in whole] != [
        b["labels"].tolist() for b in other
    ]


def test_lengths_are_put_together(tokenizer):
    padded = [
        sum(
            batch["token_ids"].size
            for batch in read(make(tokenizer, pool_batches=n), 0, 5)
        )
        for n in (1, 5)
    ]
    assert padded[1] < padded[0]


def test_about_as_many_tokens(tokenizer):
    batches = make(tokenizer, "entailment")
    real = [b["extract_position"].sum() + B for b in read(batches, 0, 5)]
    assert np.mean(real) == pytest.approx(batches.tokens_per_step, rel=0.1)
