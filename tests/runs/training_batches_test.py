import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples
from gpt1_keras.evaluation import scoring
from gpt1_keras.runs import finetune
from gpt1_keras.tasks import benchmarks
from tests.reference import small_models

SETTINGS = {
    "batch_size": 2,
    "seed": 0,
    "bucket_lengths": (16,),
    "pool_batches": 1,
}


@pytest.fixture
def train():
    return scoring.Labelled(
        benchmarks.benchmark("cola"),
        [examples.Example("the cat", label="01"[i % 2]) for i in range(5)],
        tokenizer=small_models.byte_pairs(),
        max_sequence_length=12,
        batch_size=2,
        bucket_lengths=(16,),
        name="cola train",
    )


def test_encoded(train):
    found = finetune.encoded_batches(train, **SETTINGS)
    assert isinstance(found, example_batches.TrainingExamples)
    assert (found.steps_per_epoch, found(0)["token_ids"].shape) == (
        *(2,),
        (2, 1, 16),
    )


def test_raw_texts_are_not_encoded_beforehand(train):
    if keras.config.backend() != "tensorflow":
        with pytest.raises(errors.InputError, match="raw_examples.gin needs"):
            finetune.raw_batches(train, **SETTINGS)
        return
    found = finetune.raw_batches(train, **SETTINGS)
    assert train._encoded is None
    (batch,) = found.dataset(first_step=0, num_steps=1).as_numpy_iterator()
    assert batch["token_ids"].shape == (2, 1, 16)
    assert batch["labels"].shape == (2,)
