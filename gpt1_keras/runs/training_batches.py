"""How labelled texts become training batches; gin chooses one.

Every function here has one interface:

    make(train, *, batch_size, seed, bucket_lengths, pool_batches) -> batches

where `train` is a `labelled.Labelled`; see `data.example_batches` for the
rest.
"""

import keras

from gpt1_keras import errors
from gpt1_keras.data import example_batches


def encoded(train, **settings):
    """All texts become ids before the first update, exactly."""
    return example_batches.TrainingExamples(
        train.encoded, train.labels(), **settings
    )


def raw(train, **settings):
    """Texts become ids in tf.data, while the model learns.

    Raises:
        InputError: the backend is not TensorFlow, whose graph the tokenizer
            is.
    """
    backend = keras.config.backend()
    if backend != "tensorflow":
        raise errors.InputError(
            "gin/data/raw_examples.gin needs KERAS_BACKEND=tensorflow, not "
            f"{backend}; the default encodes all texts beforehand"
        )
    from gpt1_keras.data import tf_raw_examples

    return tf_raw_examples.RawTrainingExamples(
        train.examples,
        train.labels(),
        tokenizer=train.tokenizer,
        transform=train.task.transform.__name__,
        max_sequence_length=train.max_sequence_length,
        **settings,
    )
