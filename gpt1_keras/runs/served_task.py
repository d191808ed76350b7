"""A fine-tuned model as it is served, beside the model itself."""

import numpy as np

from gpt1_keras.evaluation import agreement
from gpt1_keras.runs import fine_tuned
from gpt1_keras.runs import serving_options

_BATCH = 32  # rows of a request


class ServedTask:
    """A server of a fine-tuned model and the rows it is checked on.

    Args:
        preset: path of a fine-tuning run or its preset.
        options: `serving_options.Options`.

    Attributes:
        server: the `tf_task_server.TaskServer`.
        name, split: str. Of the task and of the rows.
        labels: list of str, the classes; empty for choices and scores.
        preset: path of the preset.
        tokenizer, graph_tokenizer: the `text.tokenizer.Tokenizer`, and as a
            graph.
        num_parameters: int.
        sequence_length: int, tokens.
    """

    def __init__(self, preset, options):
        from gpt1_keras.serving import tf_task_server

        model = fine_tuned.FineTuned(preset, options.scoring)
        serving_options.round_weights(model.network, options.weights_dtype)
        task = options.build_task(model.preprocessor)
        self._examples = model.labelled(
            task, options.data.read(task, options.split), options.split
        )
        self._logits = model.logits(self._examples)
        self.name, self.split = task.name, options.split
        self.labels = list(task.target.words)
        self.preset = model.directory
        self.num_parameters = model.network.count_params()
        self.sequence_length = model.preprocessor.sequence_length
        self.tokenizer = model.preprocessor.tokenizer.pipeline
        self.graph_tokenizer = options.graph_tokenizer(
            self.tokenizer, options.table_rows(task, model.preprocessor)
        )
        self.server = tf_task_server.TaskServer(
            model.network,
            self.graph_tokenizer,
            dtype=options.weights_dtype,
        )

    def __len__(self):
        return len(self._examples)

    def requests(self):
        """Return the rows as requests, dicts of lists of `_BATCH` or less."""
        rows = self._examples.examples
        return [
            {
                name: [getattr(row, name) for row in rows[i : i + _BATCH]]
                for name in self.server.texts
            }
            for i in range(0, len(rows), _BATCH)
        ]

    def compare(self, answers):
        """Return metrics of the answers and how far they are the model's.

        Args:
            answers: list of dicts, one for each of `requests()`.

        Returns:
            dict of the task's metrics, {} without labels; and dict of
            `evaluation.agreement`, numbers and predictions of the rows whose
            ids are the model's, `compared_rows` of them.
        """
        encoded = self._examples.encoded
        expected_ids = [encoded.candidates(i) for i in range(len(self))]
        found_ids = self._ids_in_graph()
        is_same = [a == b for a, b in zip(expected_ids, found_ids, strict=True)]
        predictions, difference, same = self._compare_outputs(answers, is_same)
        compared = {
            **agreement.of_ids(_flat(expected_ids), _flat(found_ids)),
            "compared_rows": sum(is_same),
            "largest_difference": difference,
            "same_predictions": same,
        }
        metrics = {}
        if all(e.label is not None for e in self._examples.examples):
            metrics = self._examples.task.measure(
                self._examples.examples, predictions
            )
        return metrics, compared

    def _compare_outputs(self, answers, is_same):
        """Return predictions, largest difference, share of same ones."""
        target = self._examples.task.target
        probabilities = target.probabilities(self._logits)
        differences = []
        if probabilities is not None:
            found = _joined(answers, "probabilities")
            differences.append(
                agreement.of_numbers(probabilities, found, is_same)
            )
        if target.score_range is None:
            labels = _joined(answers, "label").tolist()
            predictions = np.array([self._class(label) for label in labels])
            same = agreement.of_classes(probabilities, predictions, is_same)
            return predictions, float(np.max(differences)), same
        predictions = _joined(answers, "score")
        expected = target.predict(self._logits)
        # Of a score from 0 to 5 as of one from 0 to 1000.
        width = max(1.0, target.score_range[1] - target.score_range[0])
        differences.append(
            agreement.of_numbers(expected / width, predictions / width, is_same)
        )
        is_close = np.isclose(predictions, expected, rtol=0, atol=1e-3 * width)
        same = agreement.share(is_close, is_same)
        return predictions, float(np.max(differences)), same

    def _class(self, label):
        """Return the class of an answer's label; -1 if there is none."""
        if not self.labels:
            return int(label)
        word = label.decode() if isinstance(label, bytes) else label
        return self.labels.index(word) if word in self.labels else -1

    def _ids_in_graph(self):
        """Return the candidates of each row, as the graph makes them."""
        found = []
        for request in self.requests():
            candidates = self.server.candidates(**request)
            positions = candidates.extract_position.numpy()
            for ids, ends in zip(
                candidates.token_ids.numpy(), positions, strict=True
            ):
                found.append(
                    [
                        row[: end + 1].tolist()
                        for row, end in zip(ids, ends, strict=True)
                    ]
                )
        return found


def _joined(answers, name):
    return np.concatenate([np.asarray(answer[name]) for answer in answers])


def _flat(candidates):
    return [ids for row in candidates for ids in row]
