"""A model to a SavedModel for TensorFlow Serving, checked in a bare process."""

import collections.abc
import importlib.util
import pathlib
import shutil
import time
import typing

import keras
import numpy as np
from absl import logging
from keras import ops

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.serving import model_card
from gpt1_keras.serving import verify
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import fit

# -----------------------------------------------------------------------------
# What all served models have in common.


@checks.value_object
class Options:
    """How a model is served and what it is checked on.

    Attributes:
        data: `sources.BenchmarkFiles`.
        build_task: function of the `GPT1TaskPreprocessor` in the preset,
            returns the `tasks.task.Task` to read and measure.
        split: str. The rows that the served model is checked on.
        table_split: str or None. The rows whose frequent pieces of text go
            into the tokenizer's table.
        table_file: path of such rows where `build_task` takes a `file`; goes
            before `table_split`. None where there is none.
        num_table_pieces: int. How many of them at most.
        scoring: `presets.Scoring`.
        weights_dtype: str, dtype the weights are stored in.
        identity_texts: path of a `.txt` file or a folder of them, or None.
            The tokenizer is compared on their paragraphs, too.
    """

    data: sources.BenchmarkFiles
    build_task: collections.abc.Callable
    split: checks.Split
    table_split: checks.Split | None
    num_table_pieces: checks.Index
    scoring: presets.Scoring
    weights_dtype: typing.Annotated[
        str, checks.Dial(choices=("float32", "float16"))
    ]
    table_file: checks.Path | None = None
    identity_texts: checks.Path | None = None

    def table_rows(self, task, preprocessor=None):
        """Return the rows whose frequent pieces go into the table.

        Args:
            task: `tasks.task.Task`.
            preprocessor: the `GPT1TaskPreprocessor` of the preset; without
                one `table_file` is not looked at.

        Returns:
            list of Example, perhaps empty.
        """
        if self.table_file is not None and preprocessor is not None:
            own = self.build_task(preprocessor, file=self.table_file)
            return own.read(None, "train")
        if self.table_split is not None:
            return self.data.read(task, self.table_split)
        logging.info("no rows for the table: the words of the vocabulary do")
        return []

    def graph_tokenizer(self, tokenizer, rows):
        """Return the tokenizer as a graph, with the table of some rows.

        Args:
            tokenizer: `text.tokenizer.Tokenizer`.
            rows: list of Example.
        """
        from gpt1_keras.text import tf_tokenizer

        pieces = tf_tokenizer.frequent_pieces(
            (
                text
                for row in rows
                for text in (row.text, row.text_pair, *row.choices)
            ),
            self.num_table_pieces,
        )
        return tf_tokenizer.GraphTokenizer(tokenizer, pieces)


def round_weights(network, dtype):
    """Round the weights of a network to what is stored of them."""
    if dtype == "float32":
        return
    for variable in network.weights:
        value = variable.numpy()
        if value.dtype == "float32":
            variable.assign(value.astype(dtype).astype("float32"))


# -----------------------------------------------------------------------------
# A fine-tuned model as it is served, beside the model itself.

_BATCH = 32  # rows of a request


class ServedTask:
    """A server of a fine-tuned model and the rows it is checked on.

    Args:
        preset: path of a fine-tuning run or its preset.
        options: `export.Options`.

    Attributes:
        server: the `tf_signatures.TaskServer`.
        name, split: str. Of the task and of the rows.
        labels: list of str, the classes; empty for choices and scores.
        preset: path of the preset.
        tokenizer, graph_tokenizer: the `text.tokenizer.Tokenizer`, and as a
            graph.
        num_parameters: int.
        sequence_length: int, tokens.
    """

    def __init__(self, preset, options):
        from gpt1_keras.serving import tf_signatures

        model = presets.FineTuned(preset, options.scoring)
        round_weights(model.network, options.weights_dtype)
        task = options.build_task(model.preprocessor)
        self._examples = model.labelled(
            task, options.data.read(task, options.split), options.split
        )
        self._logits = model.logits(self._examples)
        self.name, self.split = task.name, options.split
        self.labels = list(task.label_space.class_names)
        self.preset = model.directory
        self.num_parameters = model.network.count_params()
        self.sequence_length = model.preprocessor.sequence_length
        self.tokenizer = model.preprocessor.tokenizer.pipeline
        self.graph_tokenizer = options.graph_tokenizer(
            self.tokenizer, options.table_rows(task, model.preprocessor)
        )
        self.server = tf_signatures.TaskServer(
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
            **metrics_lib.agreement_of_ids(
                _flat(expected_ids), _flat(found_ids)
            ),
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
        space = self._examples.task.label_space
        probabilities = space.probabilities(self._logits)
        differences = []
        if probabilities is not None:
            found = _joined(answers, "probabilities")
            differences.append(
                metrics_lib.agreement_of_numbers(probabilities, found, is_same)
            )
        if space.score_range is None:
            labels = _joined(answers, "label").tolist()
            predictions = np.array([self._class(label) for label in labels])
            same = metrics_lib.agreement_of_classes(
                probabilities, predictions, is_same
            )
            return predictions, float(np.max(differences)), same
        predictions = _joined(answers, "score")
        expected = space.predict(self._logits)
        # Of a score from 0 to 5 as of one from 0 to 1000.
        width = max(1.0, space.score_range[1] - space.score_range[0])
        differences.append(
            metrics_lib.agreement_of_numbers(
                expected / width, predictions / width, is_same
            )
        )
        is_close = np.isclose(predictions, expected, rtol=0, atol=1e-3 * width)
        same = metrics_lib.agreement_share(is_close, is_same)
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


# -----------------------------------------------------------------------------
# A language model as it is served, beside the model itself.

_BATCH_SERVED_LANGUAGE_MODEL = 8  # texts of a request
_TEXTS_OF = "sst2"  # sentences of any kind will do


class ServedLanguageModel:
    """A server of a language model and the texts it is checked on.

    Args:
        preset: path of a pretraining run or its preset.
        options: `export.Options`.

    Attributes:
        server: the `tf_signatures.LanguageModelServer`.
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
        from gpt1_keras.serving import tf_signatures

        fit.set_dtype(options.scoring.dtype)
        self.preset = presets.find(preset)
        self._network = presets.load(causal_lm.GPT1CausalLM, self.preset)
        round_weights(self._network, options.weights_dtype)
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
        self._opening = self.tokenizer.opening_id
        self.server = tf_signatures.LanguageModelServer(
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
            {"text": self._texts[i : i + _BATCH_SERVED_LANGUAGE_MODEL]}
            for i in range(0, len(self), _BATCH_SERVED_LANGUAGE_MODEL)
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
            **metrics_lib.agreement_of_ids(expected_ids, found_ids),
            "compared_rows": sum(is_same),
            "same_num_tokens": metrics_lib.agreement_share(
                tokens == lengths, is_same
            ),
            "largest_difference": metrics_lib.agreement_of_numbers(
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


# -----------------------------------------------------------------------------
# What is known of the training of a preset, for people.


def training_facts(preset):
    """Return what the run that made a preset says of it.

    Args:
        preset: path of `preset/` in the workdir of a run.

    Returns:
        dict from a name to a str, for a table; empty where the folder above
        holds no `result.json` of a run.
    """
    folder = pathlib.Path(preset).parent
    if not (folder / "result.json").is_file():
        return {}
    run = comparison.read(folder)
    found = run.result
    facts = {
        "run": f"{run.kind} ({found.get('task')})",
        "training data": _data(run),
        "training examples": _number(found.get("num_train_examples")),
        "tokens seen": _number(found.get("tokens_seen")),
        "updates": _number(found.get("num_steps")),
        f"metrics on {found.get('split')}": _metrics(found),
        "seed": _number(found.get("seed")),
        "began with": run.macro("PRESET"),
        "training configuration": f"sha256 {found.get('config_sha256')}",
        "commit": found.get("git_commit"),
    }
    return {name: str(value) for name, value in facts.items() if value}


def _data(run):
    """Return where the data lay, None if no file says it."""
    if run.macro("TRAIN_FILE"):
        return f"`{run.macro('TRAIN_FILE')}`"
    if run.is_sample:
        return "generated sample benchmarks, not the official files"
    place = run.macro("DATA_DIR") or run.macro("CORPUS")
    if place:
        return f"`{place}`"
    if run.bindings is not None and "CORPUS" in run.bindings.macros:
        return "the generated sample corpus"
    return None


def _metrics(found):
    """Return the metrics and of how many examples (or tokens) they are."""
    metrics = [
        f"{name} {value:.4f}"
        for name, value in found.get("metrics", {}).items()
        if isinstance(value, float)
    ]
    count = _number(found.get("num_examples"))
    return ", ".join(metrics) + f" ({count})" if metrics else None


def _number(value):
    return None if value is None else f"{value:,}"


# -----------------------------------------------------------------------------
# A model to a SavedModel for TensorFlow Serving, checked in a bare process.


@checks.value_object
class Agreement:
    """What a served model must share with the Keras model.

    Its predictions must be the same wherever its ids are.

    Attributes:
        tolerance: float. How far a probability, a log-probability per token,
            or a score as a part of its range may be off where the ids are
            the same.
        min_identical_tokens: float. Share of the tokens that must be the same
            on the rows it is checked on.
    """

    tolerance: checks.NotNegative
    min_identical_tokens: checks.Share

    def check(self, compared):
        """Refuse a model that answers otherwise.

        Args:
            compared: dict of `compare` of the served models.

        Raises:
            InputError: says what differs; nothing is to be published.
        """
        identical = compared["identical_tokens"]
        if not identical >= self.min_identical_tokens:
            raise _refusal(
                f"{identical:.4%} of its tokens are those of the Python "
                f"tokenizer, less than {self.min_identical_tokens:.4%}",
                "check the encoding of the rows (ftfy cannot run in the "
                "graph), or lower MIN_IDENTICAL_TOKENS",
            )
        if not compared["compared_rows"]:
            raise _refusal(
                "no row has the ids of the Python tokenizer, so nothing can "
                "be compared",
                "give rows of the kind it was trained on",
            )
        difference = compared["largest_difference"]
        if not difference <= self.tolerance:
            raise _refusal(
                f"it is off by {difference:.2g} where its ids are those of "
                f"the model, more than {self.tolerance:.2g}",
                "export with the versions of requirements.txt, or raise "
                "TOLERANCE",
            )
        for name, share in compared.items():
            if name.startswith("same_") and not share == 1.0:
                raise _refusal(
                    f"{name} is {share:.6g} where its ids are those of the "
                    "model, not 1",
                    "export with the versions of requirements.txt",
                )


def export(
    *,
    workdir,
    config_sha256,
    preset: checks.Path,
    options,
    agreement,
    num_warm_up: checks.Index,
):
    """Write `workdir/saved_model/N`, N one more than the last.

    The SavedModel takes plain strings. Before it gets its number it answers
    the rows of a split in a process of its own without Keras and tokenizers,
    and the answers are compared with those of the Keras model. Another model,
    split or dtype in the same workdir makes the next version.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        preset: path of a run or its preset.
        options: `export.Options`.
        agreement: `Agreement`.
        num_warm_up: int. Requests that are answered while loading.

    Returns:
        path of `result.json`.

    Raises:
        InputError: the SavedModel does not answer as the model does; or
            there is no such model, or no rows.
        RuntimeError: it does not answer at all.
    """
    _check_tensorflow()
    directory = presets.find_best(preset)
    data_dir = options.data.data_dir and str(options.data.data_dir)
    if _is_there(workdir, config_sha256, directory, data_dir):
        return results.path(workdir)
    started = time.monotonic()
    build = ServedLanguageModel
    if presets.has_head(directory):
        build = ServedTask
    served = build(directory, options)
    identity = {}
    if options.identity_texts is not None:
        identity = verify.measure_identity(
            served.tokenizer, served.graph_tokenizer, options.identity_texts
        )
    saved_model, metrics = _publish(
        served,
        workdir,
        identity,
        agreement=agreement,
        num_warm_up=num_warm_up,
        weights_dtype=options.weights_dtype,
        config_sha256=config_sha256,
    )
    logging.info("exported: %s", saved_model)
    for name, value in metrics.items():
        logging.info("  %-26s %.6g", name, value)
    return results.write(
        workdir,
        run="export",
        task=served.name,
        split=served.split,
        metrics=metrics,
        paper={},
        num_examples=len(served),
        seed=None,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(served.preset),
        data_dir=data_dir,
        saved_model=str(saved_model.relative_to(workdir)),
    )


def _is_there(workdir, config_sha256, directory, data_dir):
    """Return whether the last version is this very model, and say so."""
    path = results.path(workdir)
    if not path.exists() or presets.is_newer(directory, path):
        return False
    found = results.read(workdir)
    if found.get("data_dir") != data_dir:
        return False
    if not (workdir / str(found.get("saved_model"))).is_dir():
        return False
    return results.is_finished(workdir, config_sha256, "for another version")


def _publish(served, workdir, identity, *, agreement, num_warm_up, **facts):
    """Write and check the next version; return its path and metrics."""
    from gpt1_keras.serving import tf_saved_model

    temporary = workdir / ".saved_model.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    requests = served.requests()
    tf_saved_model.write(
        served.server,
        temporary,
        labels=served.labels,
        requests=requests[:num_warm_up],
    )
    logging.info(
        "answering %s rows of %s in a process without Keras",
        *(f"{len(served):,}", served.split),
    )
    try:
        answers = verify.answers(temporary, requests)
        metrics, compared = served.compare(answers)
        agreement.check(compared)
    except (errors.InputError, RuntimeError):
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    card = model_card.text(
        name=served.name,
        preset=served.preset,
        training=training_facts(served.preset),
        num_examples=len(served),
        split=served.split,
        metrics=metrics,
        compared=compared,
        identity=identity,
        labels=served.labels,
        request={name: rows[:1] for name, rows in requests[0].items()},
        num_parameters=served.num_parameters,
        sequence_length=served.sequence_length,
        **facts,
    )
    extra = temporary / tf_saved_model.EXTRA
    (extra / "model_card.md").write_text(card, encoding="utf-8")
    _keep_configuration(workdir, extra)
    saved_model = tf_saved_model.publish(temporary, workdir / "saved_model")
    return saved_model, metrics | compared | identity


def _keep_configuration(workdir, extra):
    """Copy `config.gin`, which the next version replaces, to the version."""
    config = workdir / "config.gin"
    if config.exists():
        shutil.copy(config, extra / config.name)


def _check_tensorflow():
    if importlib.util.find_spec("tensorflow") is None:
        raise errors.InputError(
            "a SavedModel is made with TensorFlow, which is not installed: "
            "pip install -r requirements.txt"
        )
    if keras.config.backend() != "tensorflow":
        raise errors.InputError(
            f"KERAS_BACKEND is {keras.config.backend()}: export with "
            "KERAS_BACKEND=tensorflow, whatever the model was trained with"
        )


def _refusal(reason, remedy):
    return errors.InputError(
        f"the served model is not published: {reason}; {remedy}"
    )
