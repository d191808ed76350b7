"""A model to a SavedModel for TensorFlow Serving, checked in a bare process."""

import dataclasses
import importlib.util
import shutil
import time

import keras
from absl import logging

from gpt1_keras import errors
from gpt1_keras.runs import graph_identity
from gpt1_keras.runs import presets
from gpt1_keras.runs import result
from gpt1_keras.runs import served_language_model
from gpt1_keras.runs import served_task
from gpt1_keras.runs import training_facts
from gpt1_keras.serving import bare_process
from gpt1_keras.serving import model_card


@dataclasses.dataclass(frozen=True, kw_only=True)
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

    tolerance: float
    min_identical_tokens: float

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


def export(*, workdir, config_sha256, preset, options, agreement, num_warm_up):
    """Write `workdir/saved_model/N`, N one more than the last.

    The SavedModel takes plain strings. Before it gets its number it answers
    the rows of a split in a process of its own without Keras and tokenizers,
    and the answers are compared with those of the Keras model. Another model,
    split or dtype in the same workdir makes the next version.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        preset: path of a run or its preset.
        options: `serving_options.Options`.
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
        return result.path(workdir)
    started = time.monotonic()
    build = served_language_model.ServedLanguageModel
    if presets.has_head(directory):
        build = served_task.ServedTask
    served = build(directory, options)
    identity = {}
    if options.identity_texts is not None:
        identity = graph_identity.measure(
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
    return result.write(
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
    path = result.path(workdir)
    if not path.exists() or presets.is_newer(directory, path):
        return False
    found = result.read(workdir)
    if found.get("data_dir") != data_dir:
        return False
    if not (workdir / str(found.get("saved_model"))).is_dir():
        return False
    return result.is_finished(workdir, config_sha256, "for another version")


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
        answers = bare_process.answers(temporary, requests)
        metrics, compared = served.compare(answers)
        agreement.check(compared)
    except (errors.InputError, RuntimeError):
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    card = model_card.text(
        name=served.name,
        preset=served.preset,
        training=training_facts.of(served.preset),
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
