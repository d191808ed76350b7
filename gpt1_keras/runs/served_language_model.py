"""A language model as it is served, beside the model itself."""

import numpy as np
from keras import ops

from gpt1_keras.evaluation import agreement
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import fitting
from gpt1_keras.runs import presets
from gpt1_keras.runs import serving_options
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks.probes import fitting as probe_fitting

_BATCH = 8  # texts of a request
_TEXTS_OF = "sst2"  # sentences of any kind will do


class ServedLanguageModel:
    """A server of a language model and the texts it is checked on.

    Args:
        preset: path of a pretraining run or its preset.
        options: `serving_options.Options`.

    Attributes:
        server: the `tf_language_model_server.LanguageModelServer`.
        name, split: str. Of the benchmark with the texts.
        labels: [].
        preset: path of the preset.
        tokenizer, graph_tokenizer: the `text.tokenizer.Tokenizer`, and as a
            graph.
        num_parameters: int.
        sequence_length: int, tokens.
    """

    name = "language model"
    labels = ()

    def __init__(self, preset, options):
        from gpt1_keras.serving import tf_language_model_server

        fitting.set_dtype(options.scoring.dtype)
        self.preset = presets.find(preset)
        self._network = presets.load(causal_lm.GPT1CausalLM, self.preset)
        serving_options.round_weights(self._network, options.weights_dtype)
        task = benchmarks.benchmark(_TEXTS_OF)
        rows = options.data.read(task, options.split)
        self.split = options.split
        self._texts = [row.text for row in rows]
        self.tokenizer = self._network.preprocessor.tokenizer.pipeline
        self.graph_tokenizer = options.graph_tokenizer(
            self.tokenizer, options.table_rows(task)
        )
        self.sequence_length = self._network.backbone.max_sequence_length
        self.num_parameters = self._network.count_params()
        self._opening = probe_fitting.opening(self.tokenizer)
        self.server = tf_language_model_server.LanguageModelServer(
            self._network,
            self.graph_tokenizer,
            opening_id=self._opening,
            max_sequence_length=self.sequence_length,
            dtype=options.weights_dtype,
        )

    def __len__(self):
        return len(self._texts)

    def requests(self):
        """Return the texts as requests, dicts of lists of `_BATCH` or less."""
        return [
            {"text": self._texts[i : i + _BATCH]}
            for i in range(0, len(self), _BATCH)
        ]

    def compare(self, answers):
        """Return metrics of the answers and how far they are the model's.

        Args:
            answers: list of dicts, one for each of `requests()`.

        Returns:
            dict of `loss` per token and `perplexity`; and dict of
            `evaluation.agreement`, numbers and lengths of the texts whose ids
            are the model's, `compared_rows` of them.
        """
        expected_ids = [
            ids[: self.sequence_length]
            for ids in self.tokenizer.encode_batch(self._texts)
        ]
        found_ids = []
        for request in self.requests():
            ids, lengths, _ = self.server.ids(request["text"])
            for row, length in zip(ids.numpy(), lengths.numpy(), strict=True):
                found_ids.append(row[1 : 1 + length].tolist())
        is_same = [a == b for a, b in zip(expected_ids, found_ids, strict=True)]
        found = np.concatenate([a["log_probability"] for a in answers])
        tokens = np.concatenate([a["num_tokens"] for a in answers])
        expected = np.array([self._log_probability(i) for i in expected_ids])
        lengths = np.array(list(map(len, expected_ids)))
        per_token = np.maximum(1, lengths)
        compared = {
            **agreement.of_ids(expected_ids, found_ids),
            "compared_rows": sum(is_same),
            "same_num_tokens": agreement.share(tokens == lengths, is_same),
            "largest_difference": agreement.of_numbers(
                expected / per_token, found / per_token, is_same
            ),
        }
        loss = float(-found.sum() / max(1, tokens.sum()))
        return {"loss": loss, "perplexity": float(np.exp(loss))}, compared

    def _log_probability(self, ids):
        """Return the sum over the ids of a text, each given those before."""
        if not ids:
            return 0.0
        # Two positions at least: Keras warns of a softmax over one.
        inputs = np.array([[self._opening, *(ids[:-1] or [0])]], "int32")
        logits = self._network(
            {"token_ids": inputs, "padding_mask": np.ones_like(inputs)}
        )
        found = ops.convert_to_numpy(ops.log_softmax(logits[0]))
        return float(found[np.arange(len(ids)), ids].sum(dtype="float64"))
