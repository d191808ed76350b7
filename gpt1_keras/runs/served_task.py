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
        self.server = tf_task_server.TaskServer(
            model.network,
            options.graph_tokenizer(
                model.preprocessor.tokenizer.pipeline, task
            ),
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
        """Return metrics of the answers and how far they are the model's."""
        encoded = self._examples.encoded
        expected_ids = [encoded.candidates(i) for i in range(len(self))]
        found_ids = self._ids_in_graph()
        target = self._examples.task.target
        if "probabilities" in answers[0]:
            expected = target.probabilities(self._logits)
            found = _joined(answers, "probabilities")
        else:
            expected, found = target.predict(self._logits), None
        if target.score_range:
            predictions = _joined(answers, "score")
            found = predictions if found is None else found
        else:
            predictions = found.argmax(axis=-1)
        is_same = [a == b for a, b in zip(expected_ids, found_ids, strict=True)]
        compared = {
            **agreement.of_ids(_flat(expected_ids), _flat(found_ids)),
            "largest_difference": agreement.of_numbers(
                expected, found, is_same
            ),
            "same_predictions": float(
                np.mean(
                    np.isclose(
                        predictions, target.predict(self._logits), atol=1e-3
                    )
                )
            ),
        }
        metrics = {}
        if all(e.label is not None for e in self._examples.examples):
            metrics = self._examples.task.measure(
                self._examples.examples, predictions
            )
        return metrics, compared

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
