"""Served models, compared with the Keras models that they must agree with.

Each has a `server` (`tf_saved_model`), the Keras `network`, `requests` to check
the server with, `compare`, which compares the answers of both, and `name` and
`labels` for the model card.
"""

import itertools

import numpy as np
import tensorflow as tf

from gpt1_keras import results
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.evaluation import text_view
from gpt1_keras.serving import tf_saved_model

# Scores that differ by at most this part of their range count as equal.
_SCORE_TOLERANCE = 1e-3
# So do probabilities that differ by at most this: float32 is no more precise.
_TIE = 1e-6


class ServedTask:
    """A fine-tuned model (`runs.presets.FineTuned`) as it is served.

    `examples` are `evaluation.scoring.Labelled` to check the server on; for the
    other arguments see `tf_saved_model.TaskServer`, which rounds the weights.
    """

    def __init__(self, model, examples, tokenizer, dtype):
        self.network = model.network
        self._examples = examples
        self.name = examples.task.name
        self.labels = list(examples.task.label_space.class_names)
        self.server = tf_saved_model.TaskServer(model.network, tokenizer, dtype)
        self._logits = model.logits(examples)
        self.requests = _requests(self.server, examples.examples, 32)

    def compare(self, answers):
        """Return the metrics of the answers, and their agreement with Keras.

        The metrics are the task's, {} without labels. The agreement is that of
        `metrics.agreement_of_ids`, with `compared_rows` (the number of rows
        with the same ids as in the Keras model) and, for these rows,
        `largest_difference` and the share `same_predictions`.
        """
        task, examples = self._examples.task, self._examples.examples
        encoded, space = self._examples.encoded, task.label_space
        probabilities = space.probabilities(self._logits)
        differences = []
        if probabilities is not None:
            found = _joined(answers, "probabilities")
            differences.append(np.abs(probabilities - found).max(axis=-1))
        if space.score_range is None:
            predictions = _joined(answers, "label")
            if self.labels:
                predictions = np.array([*map(self.labels.index, predictions)])
            chosen = probabilities[np.arange(len(examples)), predictions]
            same = chosen >= probabilities.max(axis=-1) - _TIE
        else:
            predictions = _joined(answers, "score")
            low, high = space.score_range
            distance = np.abs(predictions - space.predict(self._logits))
            differences.append(distance / (high - low))
            same = differences[-1] <= _SCORE_TOLERANCE
        compared = _agreement(
            [encoded.candidates(i) for i in range(len(examples))],
            self._ids_in_graph(),
            np.max(differences, axis=0),  # keeps NaN
            same_predictions=same,
        )
        metrics = {}
        if all(example.label is not None for example in examples):
            metrics = task.measure(examples, predictions)
        return metrics, compared

    def _ids_in_graph(self):
        """Return the ids of each row's candidates, encoded in the graph."""
        found = []
        for ids, positions, _ in _called(self.server.candidates, self.requests):
            for rows, ends in zip(ids.numpy(), positions.numpy(), strict=True):
                found.append([r[: n + 1].tolist() for r, n in zip(rows, ends)])
        return found


class ServedLanguageModel:
    """A language model (`GPT1CausalLM`) as it is served; see `ServedTask`.

    `rows` are a list of Example to check the server on, by their `text`.
    """

    name = "language model"
    labels = ()

    def __init__(self, network, rows, tokenizer, dtype):
        self.network = network
        self._texts = [row.text for row in rows]
        self.server = tf_saved_model.LanguageModelServer(
            network, tokenizer, dtype
        )
        self.requests = _requests(self.server, rows, 8)

    def compare(self, answers):
        """Return `loss` per token and `perplexity`, and their agreement.

        See `ServedTask`; here with the share `same_num_tokens`, and
        `largest_difference` is that of the log-probability per token.
        """
        tokenizer = self.network.preprocessor.tokenizer.pipeline
        limit = self.server.max_sequence_length
        whole = tokenizer.encode_batch(self._texts)
        expected_ids = [ids[:limit] for ids in whole]
        found_ids = []
        for ids, lengths, _ in _called(self.server.ids, self.requests):
            for row, length in zip(ids.numpy(), lengths.numpy(), strict=True):
                found_ids.append([row[1 : 1 + length].tolist()])
        found = _joined(answers, "log_probability")
        num_tokens = _joined(answers, "num_tokens")
        lengths = np.array(list(map(len, expected_ids)))
        expected = [
            text_view.log_probabilities(self.network, ids).sum()
            for ids in expected_ids
        ]
        compared = _agreement(
            [[ids] for ids in expected_ids],
            found_ids,
            np.abs(expected - found) / np.maximum(1, lengths),
            same_num_tokens=num_tokens == lengths,
        )
        loss = float(-found.sum() / max(1, num_tokens.sum()))
        return {"loss": loss, "perplexity": results.perplexity(loss)}, compared


def _agreement(expected, found, differences, **same):
    """Return how far `N` rows agree: their ids and, if these agree, answers.

    `expected` and `found` are the ids of their candidates; `differences` `[N]`
    is how much the answers differ, `same` {name: bool `[N]`} what is equal.
    """
    is_same = np.array([a == b for a, b in zip(expected, found, strict=True)])
    flat = (list(itertools.chain(*rows)) for rows in (expected, found))
    count = int(is_same.sum())
    return metrics_lib.agreement_of_ids(*flat) | {
        "compared_rows": count,
        "largest_difference": float(differences[is_same].max(initial=0.0)),
        **{k: int(v[is_same].sum()) / max(1, count) for k, v in same.items()},
    }


def _requests(server, rows, size):
    """Return requests of `size` examples each."""
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [
        {name: [getattr(row, name) for row in part] for name in server.texts}
        for part in parts
    ]


def _called(function, requests):
    """Yield what a server's function returns for each request, as a graph."""
    ranks = {name: np.ndim(texts) for name, texts in requests[0].items()}
    graph = tf_saved_model.concrete(function, tf.string, **ranks)
    for request in requests:
        yield graph(**{k: tf.constant(texts) for k, texts in request.items()})


def _joined(answers, name):
    return np.concatenate([np.asarray(answer[name]) for answer in answers])
