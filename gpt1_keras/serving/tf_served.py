"""Served models, and the Keras models that they must agree with.

A served model has a `server` (`tf_saved_model`), the requests to check it with,
and `compare`, which compares the server's answers with the Keras model's. Its
`name`, `labels`, `sequence_length` and `num_parameters` are for the model card.
"""

import itertools

import numpy as np

from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.evaluation import text_view
from gpt1_keras.serving import tf_saved_model


def round_weights(network, dtype):
    """Round the float32 weights of a network to the stored `dtype`."""
    for variable in network.weights:
        value = np.asarray(variable)
        if value.dtype == "float32":
            variable.assign(value.astype(dtype).astype("float32"))


class ServedTask:
    """A fine-tuned model as it is served.

    Args:
        model: `runs.presets.FineTuned`. Its weights are rounded to `dtype`.
        examples: `evaluation.scoring.Labelled` to check the server on.
        graph_tokenizer: `text.tf_tokenizer.GraphTokenizer`.
        dtype: str, in which the weights are stored.
    """

    _batch_size = 32

    def __init__(self, model, examples, graph_tokenizer, dtype):
        round_weights(model.network, dtype)
        self._examples = examples
        self._space = examples.task.label_space
        self._logits = model.logits(examples)
        self.name = examples.task.name
        self.labels = list(self._space.class_names)
        self.num_parameters = model.network.count_params()
        self.sequence_length = model.preprocessor.sequence_length
        self.server = tf_saved_model.TaskServer(
            model.network, graph_tokenizer, dtype=dtype
        )

    def requests(self):
        rows = self._examples.examples
        return [
            {
                name: [getattr(row, name) for row in part]
                for name in self.server.texts
            }
            for part in _batches(rows, self._batch_size)
        ]

    def compare(self, answers):
        """Return the metrics of the answers, and their agreement with Keras.

        Returns:
            dict of the task's metrics, {} without labels; and dict of
            `metrics.agreement_of_ids`, `compared_rows` (the number of rows with
            the ids of the Keras model) and, over these rows,
            `largest_difference` and the share `same_predictions`.
        """
        examples = self._examples.examples
        encoded = self._examples.encoded
        is_same, compared = _compare_ids(
            [encoded.candidates(i) for i in range(len(examples))],
            self._ids_in_graph(),
        )
        predictions, difference, same = self._compare_outputs(answers, is_same)
        compared |= {"largest_difference": difference, "same_predictions": same}
        metrics = {}
        if all(example.label is not None for example in examples):
            metrics = self._examples.task.measure(examples, predictions)
        return metrics, compared

    def _compare_outputs(self, answers, is_same):
        """Return predictions, largest difference, share of equal ones."""
        difference = 0.0
        probabilities = self._space.probabilities(self._logits)
        if probabilities is not None:
            difference = metrics_lib.agreement_of_numbers(
                probabilities, _joined(answers, "probabilities"), is_same
            )
        if self._space.score_range is None:
            predictions = np.array(
                [self._class_of(label) for label in _joined(answers, "label")]
            )
            same = metrics_lib.agreement_of_classes(
                probabilities, predictions, is_same
            )
            return predictions, difference, same
        predictions = _joined(answers, "score")
        expected = self._space.predict(self._logits)
        # Scores are compared relative to their range.
        low, high = self._space.score_range
        width = max(1.0, high - low)
        of_scores = metrics_lib.agreement_of_numbers(
            expected / width, predictions / width, is_same
        )
        is_close = np.isclose(predictions, expected, rtol=0, atol=1e-3 * width)
        return (
            predictions,
            float(np.max([difference, of_scores])),  # keeps NaN
            metrics_lib.agreement_share(is_close, is_same),
        )

    def _class_of(self, label):
        if not self.labels:
            return int(label)
        name = label.decode() if isinstance(label, bytes) else label
        return self.labels.index(name) if name in self.labels else -1

    def _ids_in_graph(self):
        """Return each row's candidates as encoded in the graph."""
        found = []
        for request in self.requests():
            candidates = self.server.candidates(**request)
            arrays = candidates.token_ids, candidates.extract_position
            for rows, ends in zip(*(a.numpy() for a in arrays), strict=True):
                found.append([r[: n + 1].tolist() for r, n in zip(rows, ends)])
        return found


class ServedLanguageModel:
    """A language model as it is served.

    Args:
        network: `GPT1CausalLM`. Its weights are rounded to `dtype`.
        texts: list of str to check the server on.
        graph_tokenizer, dtype: see `ServedTask`.
    """

    name = "language model"
    labels = ()
    _batch_size = 8

    def __init__(self, network, texts, graph_tokenizer, dtype):
        round_weights(network, dtype)
        self._network = network
        self._texts = texts
        self._tokenizer = network.preprocessor.tokenizer.pipeline
        self.num_parameters = network.count_params()
        self.sequence_length = network.backbone.max_sequence_length
        self.server = tf_saved_model.LanguageModelServer(
            network, graph_tokenizer, dtype
        )

    def requests(self):
        return [
            {"text": part} for part in _batches(self._texts, self._batch_size)
        ]

    def compare(self, answers):
        """Return `loss` per token and `perplexity`, and their agreement.

        As in `ServedTask`, but with the share `same_num_tokens`, and
        `largest_difference` of the log-probability per token.
        """
        expected_ids = [
            ids[: self.sequence_length]
            for ids in self._tokenizer.encode_batch(self._texts)
        ]
        found_ids = []
        for request in self.requests():
            ids, lengths, _ = self.server.ids(request["text"])
            for row, length in zip(ids.numpy(), lengths.numpy(), strict=True):
                found_ids.append([row[1 : 1 + length].tolist()])
        is_same, compared = _compare_ids([[i] for i in expected_ids], found_ids)
        found = _joined(answers, "log_probability")
        num_tokens = _joined(answers, "num_tokens")
        lengths = np.array(list(map(len, expected_ids)))
        expected = np.array([self._log_probability(i) for i in expected_ids])
        compared |= {
            "same_num_tokens": metrics_lib.agreement_share(
                num_tokens == lengths, is_same
            ),
            "largest_difference": metrics_lib.agreement_of_numbers(
                expected / np.maximum(1, lengths),
                found / np.maximum(1, lengths),
                is_same,
            ),
        }
        loss = float(-found.sum() / max(1, num_tokens.sum()))
        return {"loss": loss, "perplexity": float(np.exp(loss))}, compared

    def _log_probability(self, ids):
        if not ids:
            return 0.0
        return text_view.log_probabilities(
            self._network, ids, before=self._tokenizer.opening_id
        ).sum()


def _compare_ids(expected, found):
    """Return which rows have equal candidates, and the agreement of all ids."""
    is_same = [a == b for a, b in zip(expected, found, strict=True)]
    flat = (list(itertools.chain(*rows)) for rows in (expected, found))
    shares = metrics_lib.agreement_of_ids(*flat)
    return is_same, shares | {"compared_rows": sum(is_same)}


def _batches(rows, size):
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _joined(answers, name):
    return np.concatenate([np.asarray(answer[name]) for answer in answers])
