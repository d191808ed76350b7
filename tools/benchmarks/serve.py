"""Text classification: requests of one string and of 32.

`saved_model` is the SavedModel of the run `export`, with the tokenizer in its
graph; `keras` is the Keras model with the Python tokenizer; `transformers` is
its text-classification pipeline with the same vocabulary and size, on all
threads and on one (faster on some busy machines, as torch waits for the
slowest thread). Every request has other strings than the one before.
"""

import itertools
import pathlib
import tempfile

import keras

from tools.benchmarks import contest
from tools.benchmarks import networks
from tools.benchmarks import texts

_BATCH = 32
_REQUESTS = 10  # of one turn


def measure(*, sizes, rounds):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int, how often each contender answers ten requests.

    Returns:
        speeds for requests of 32; `one_string_ms`, the time of a request of
        one; `tokenizer_share`, the tokenizer's share of the time of 32.
    """
    keras.config.set_dtype_policy("float32")
    pipeline = networks.tokenizer()
    model = networks.task_model("sst2", pipeline, **sizes)
    strings = texts.sentences(10 * _BATCH)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        peer = networks.transformers_pipeline(model, pipeline, directory)
        answers, tokenizers = _contenders(model, pipeline, peer, directory)
        one, _ = _contest(answers, strings, 1, rounds)
        many, labels = _contest(answers, strings, _BATCH, rounds)
        alone, _ = _contest(tokenizers, strings, _BATCH, rounds)
    return {
        "unit": f"strings/s, {_BATCH} at once",
        "words_per_string": round(
            sum(len(s.split()) for s in strings) / len(strings), 1
        ),
        **many,
        "one_string_ms": {
            name: speed and round(1000 / speed, 2)
            for name, speed in one["per_second"].items()
        },
        "tokenizer_share": {
            name: speed and round(many["per_second"][name] / speed, 3)
            for name, speed in alone["per_second"].items()
        },
        "labels_equal": labels["saved_model"] == labels["keras"],
    }


def _contenders(model, pipeline, peer, directory):
    """Return {name: function of a list of strings}: classifiers, tokenizers."""
    answers = {
        "saved_model": _saved_model(model, pipeline, directory),
        "keras": _keras(model),
        "transformers": peer and _transformers(peer),
        "transformers_1": peer and _transformers(peer, num_threads=1),
    }
    tokenizers = {
        "saved_model": _graph_tokenizer(model, pipeline),
        "keras": model.preprocessor,
        "transformers": peer
        and (lambda batch: peer.tokenizer(batch, padding=True)),
    }
    return answers, tokenizers


def _contest(contenders, strings, size, rounds):
    """Time ten requests of `size` strings each."""

    def repeated(call):
        batches = itertools.cycle(
            [strings[i : i + size] for i in range(0, len(strings), size)]
        )
        return lambda: [call(next(batches)) for _ in range(_REQUESTS)]

    return contest.run(
        {name: call and repeated(call) for name, call in contenders.items()},
        rounds=rounds,
        work=_REQUESTS * size,
        peer_of="saved_model",
    )


def _saved_model(model, pipeline, directory):
    import tensorflow as tf

    from gpt1_keras.serving import tf_saved_model
    from gpt1_keras.text import tf_tokenizer

    server = tf_saved_model.TaskServer(
        model, tf_tokenizer.GraphTokenizer(pipeline)
    )
    tf_saved_model.write(server, directory / "1", labels=[], requests=[])
    loaded = tf.saved_model.load(str(directory / "1"))
    signature = loaded.signatures["serving_default"]

    def answer(batch, loaded=loaded):  # keeps its variables
        labels = signature(text=tf.constant(batch))["label"]
        return [label.decode() for label in labels.numpy()]

    return answer


def _graph_tokenizer(model, pipeline):
    import tensorflow as tf

    from gpt1_keras.text import tf_tokenizer

    tokenizer = tf_tokenizer.GraphTokenizer(pipeline)
    limit = model.preprocessor.sequence_length + 1
    encode = tf.function(
        lambda batch: tokenizer(batch, limit=limit).flat_values,
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    return lambda batch: encode(tf.constant(batch)).numpy()


def _keras(model):
    from keras import ops

    words = model.preprocessor.label_words

    def answer(batch):
        logits = model.predict_on_batch(model.preprocessor(batch))
        best = ops.convert_to_numpy(logits).argmax(axis=-1)
        return [words[i] for i in best]

    return answer


def _transformers(peer, num_threads=None):
    import torch

    num_threads = num_threads or torch.get_num_threads()

    def answer(batch):
        torch.set_num_threads(num_threads)
        found = peer(batch, batch_size=len(batch), truncation=True)
        return [each["label"] for each in found]

    return answer
