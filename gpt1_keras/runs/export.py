"""Export of a SavedModel for TensorFlow Serving, checked before publishing."""

import contextlib
import dataclasses
import inspect
import pathlib
import shutil
import time
import typing

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.serving import model_card
from gpt1_keras.serving import verify
from gpt1_keras.tasks import benchmarks


@checks.value_object
class Options:
    """How a model is served, and what it is checked on."""

    data: sources.BenchmarkFiles
    build_task: checks.TaskBuilder  # of the task to read and measure
    split: checks.Split  # rows that the served model is checked on
    # Split whose frequent words get exact ids; None: only the vocabulary's do.
    table_split: checks.Split | None
    num_table_pieces: checks.Index  # largest number of frequent words
    scoring: presets.Scoring
    # Of stored weights; with "int8", all but the blocks' kernels are float32.
    weights_dtype: typing.Literal["float32", "float16", "int8"]
    table_file: checks.Path | None = None  # texts instead of `table_split`

    def table_texts(self, task):
        """Return the texts whose frequent words go into the table."""
        if self.table_file is not None:
            path = pathlib.Path(self.data.data_dir or "") / self.table_file
            return custom_lib.read_table(path).texts()
        if self.table_split is None:
            return []
        rows = self.data.read(task, self.table_split)
        return [t for x in rows for t in (x.text, x.text_pair, *x.choices)]


def export(
    *,
    workdir,
    config_sha256,
    preset: checks.Path,
    options: Options,
    agreement: verify.Agreement,
    num_warm_up: checks.Index,
):
    """Write `workdir/saved_model/N`, where N is one more than the last.

    The SavedModel takes raw strings. Before it is published, it answers the
    rows of a split in a process without Keras. If it fails, or if its answers
    differ too much from those of the Keras model, RunError is raised. Exporting
    to the same workdir again, with another model or other settings, adds a
    version. The first `num_warm_up` requests are stored: a server answers them
    as it loads.
    """
    sources.check_tensorflow("exporting", "it takes presets of all backends")
    started = time.monotonic()
    directory = presets.find(preset)
    model, task = _load(directory, options)
    rows = options.data.read(task, options.split)
    texts = options.table_texts(task)
    facts = {
        "preset_sha256": presets.sha256(directory),
        "examples_sha256": examples_lib.sha256(rows),
        "table_sha256": examples_lib.sha256(texts),
    }
    before = (results.read(workdir) or {}).get("saved_model")
    if before and _is_whole(workdir / str(before)):
        if results.is_finished(workdir, config_sha256, **facts):
            return results.path(workdir)
    custom_lib.report_skipped(task.skipped, workdir)
    from gpt1_keras.serving import tf_saved_model

    served = _served(model, task, rows, texts, options)
    requests = served.requests
    saved_model = tf_saved_model.next_version(workdir / "saved_model")
    with files.new_folder(saved_model) as temporary:
        tf_saved_model.write(
            served.server,
            temporary,
            labels=served.labels,
            requests=requests[:num_warm_up],
        )
        logging.info(f"answering {len(rows):,} rows of {options.split}")
        metrics, compared = served.compare(verify.answers(temporary, requests))
        agreement.check(compared)
        card = model_card.text(
            name=served.name,
            preset=directory,
            num_examples=len(rows),
            split=options.split,
            metrics=metrics,
            compared=compared,
            labels=served.labels,
            request={name: x[:1] for name, x in requests[0].items()},
            num_parameters=served.network.count_params(),
            sequence_length=served.server.max_sequence_length,
            weights_dtype=options.weights_dtype,
            config_sha256=config_sha256,
        )
        extra = temporary / tf_saved_model.EXTRA
        (extra / "model_card.md").write_text(card, encoding="utf-8")
        if (workdir / "config.gin").exists():  # The next version replaces it.
            shutil.copy(workdir / "config.gin", extra)
        files.seal(temporary)
        metrics |= compared
        # Written before the version appears: if the run is killed in between,
        # the repeated command exports this version, not a further one.
        path = results.write(
            workdir,
            run="export",
            task=served.name,
            split=options.split,
            metrics=metrics,
            num_examples=len(rows),
            config_sha256=config_sha256,
            seconds=time.monotonic() - started,
            preset=str(directory),
            **facts,
            saved_model=str(saved_model.relative_to(workdir)),
        )
    logging.info("exported: %s", saved_model)
    for name, value in metrics.items():
        logging.info("  %-26s %.6g", name, value)
    return path


def _is_whole(version):
    with contextlib.suppress(errors.InputError):
        files.check_seal(version)
        return version.is_dir()
    return False


def _load(directory, options):
    """Return a preset's model, and the `Task` whose rows it is checked on."""
    scoring = options.scoring
    if options.weights_dtype == "int8":
        scoring = dataclasses.replace(scoring, dtype="int8")
    if presets.has_head(directory):
        model = presets.FineTuned(directory, scoring)
        return model, options.build_task(model.preprocessor)
    if inspect.unwrap(options.build_task) is not benchmarks.of_preset:
        raise errors.InputError(
            f"`preset`: {directory} is a language model, not fine-tuned on your"
            " own rows: use gin/export.gin"
        )
    model = presets.load(causal_lm.GPT1CausalLM, directory, dtype=scoring.dtype)
    return model, benchmarks.benchmark("sst2")  # for its texts


def _served(model, task, rows, texts, options):
    """Return the `ServedTask` or `ServedLanguageModel`."""
    from gpt1_keras.serving import tf_served
    from gpt1_keras.text import tf_tokenizer

    pieces = tf_tokenizer.frequent_pieces(texts, options.num_table_pieces)
    tokenizer = model.preprocessor.tokenizer.pipeline
    graph = tf_tokenizer.GraphTokenizer(tokenizer, pieces)
    dtype = options.weights_dtype
    dtype = "float32" if dtype == "int8" else dtype  # loaded with int8 kernels
    if isinstance(model, presets.FineTuned):
        rows = model.labelled(task, rows, options.split)
        return tf_served.ServedTask(model, rows, graph, dtype)
    return tf_served.ServedLanguageModel(model, rows, graph, dtype)
