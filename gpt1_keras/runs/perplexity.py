"""The perplexity of any text under any preset."""

import time

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import corpus as corpus_lib
from gpt1_keras.data import prepare
from gpt1_keras.data import shards as shards_lib
from gpt1_keras.evaluation import held_out
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses

_RUN = {
    "run": "perplexity",
    "task": "language_model",
    "paper": {},
    "seed": None,
}
_SPLITS = ("all", "train", "held_out")
_UNKNOWN_ID = 0  # of every vocabulary
_MANY_UNKNOWN = 0.01


@checks.value_object
class Scoring:
    """How text is scored.

    Attributes:
        num_tokens: int, scored from the beginnings of the files; None: all.
        sequence_length: int, tokens of the window; None: all positions.
        stride: int, tokens by which it moves.
        batch_size: int, windows per forward pass.
        softmax_chunk: int, tokens whose logits exist at one time.
    """

    num_tokens: checks.Count | None
    sequence_length: checks.Length | None
    stride: checks.Count
    batch_size: checks.NotRecipe[checks.Count]
    softmax_chunk: checks.NotRecipe[checks.Count] = 512


def perplexity(
    *,
    preset: checks.Path | None,
    corpus: checks.Path | None,
    split: str,
    scoring,
    config_sha256,
    workdir=None,
):
    """Score text; with a workdir, write `result.json` there.

    Every token but the first of each file counts once, given what stands
    before it in file and window. The softmax is over the vocabulary.

    Args:
        preset: path of a preset, or None for the one shipped.
        corpus: path of a `.txt` file, a folder of them, or prepared shards.
        split: "all", and of prepared shards "train" or "held_out".
        scoring: `Scoring`.
        config_sha256: str, goes into the result.
        workdir: pathlib.Path, or None to show the figures only.

    Returns:
        dict, as `evaluation.perplexity`.

    Raises:
        InputError: no such preset or text, or nothing in it to score.
    """
    started = time.monotonic()
    directory = presets.find(preset)
    tokenizer = presets.load_tokenizer(directory)
    texts = _texts(corpus, tokenizer, split)
    backbone = presets.load(backbone_lib.GPT1Backbone, directory)
    window = _window(scoring.sequence_length, backbone, texts)
    metrics = held_out.score(
        _scorer(backbone, scoring.softmax_chunk),
        texts,
        sequence_length=window,
        stride=scoring.stride,
        batch_size=scoring.batch_size,
        tokens=scoring.num_tokens,
        description="perplexity",
    )
    unknown = _unknown_share(texts)
    _report(metrics, unknown)
    if workdir is not None:
        results.write(
            workdir,
            **_RUN,
            split=split,
            metrics=metrics,
            num_examples=metrics["tokens"],
            config_sha256=config_sha256,
            seconds=time.monotonic() - started,
            preset=str(directory),
            corpus=str(corpus),
            sequence_length=window,
            unknown_share=unknown,
        )
    return metrics


def _report(metrics, unknown):
    logging.info(
        "perplexity %.2f per token (%s), %.2f per word (%s)",
        metrics["perplexity"],
        f"{metrics['tokens']:,}",
        metrics["word_perplexity"],
        f"{metrics['words']:,}",
    )
    if unknown > _MANY_UNKNOWN:
        logging.warning(
            "%.1f %% of the tokens are not in the vocabulary: easy to predict, "
            "so both perplexities are too good",
            100 * unknown,
        )


def _unknown_share(texts):
    """Return the share of the tokens that stand for unknown text."""
    unknown = sum(
        int((texts.read(book, 0, length) == _UNKNOWN_ID).sum())
        for book, length in enumerate(texts.lengths)
    )
    return unknown / int(texts.lengths.sum())


def _texts(corpus, tokenizer, split):
    """Return the `data.shards.Split` to score, prepared now if need be."""
    if split not in _SPLITS:
        raise errors.InputError(
            f"SPLIT is {split!r}: give one of {', '.join(_SPLITS)}"
        )
    if corpus is None:
        raise errors.InputError(
            "no CORPUS is given: add --set \"CORPUS = 'FILE_OR_FOLDER'\" with "
            ".txt files"
        )
    shards, _ = corpus_lib.open_corpus(corpus, prepare.Recipe(tokenizer))
    if split == "all":
        books = shards.index["books"]
        texts = shards_lib.Split(shards.directory, shards.index, books)
    else:
        texts = shards.split(split)
    if not len(texts.lengths):
        raise errors.InputError(
            f"CORPUS {corpus} has no {split} files: give SPLIT 'all', or a "
            "corpus that gin/prepare.gin has prepared"
        )
    if texts.lengths.max() < 2:
        raise errors.InputError(
            f"CORPUS {corpus} has no two tokens in a file, and the first has "
            "nothing before it to be predicted from: give more text"
        )
    logging.info(
        "%s files, %s tokens",
        f"{len(texts.lengths):,}",
        f"{texts.lengths.sum():,}",
    )
    return texts


def _window(sequence_length, backbone, texts):
    """Return the tokens of a window, no more than a file has."""
    positions = backbone.max_sequence_length
    if sequence_length is None:
        sequence_length = positions
    if not 2 <= sequence_length <= positions:
        raise errors.InputError(
            f"SEQUENCE_LENGTH is {sequence_length}: give 2 to {positions}, "
            "the model's positions"
        )
    return min(sequence_length, int(texts.lengths.max()))


class _OverWords(losses.LanguageModelLoss):
    """Scores by a softmax without the rows of special tokens."""

    def __init__(self, *, vocabulary_size, chunk_size):
        super().__init__(chunk_size=chunk_size)
        self.vocabulary_size = vocabulary_size

    def table(self, outputs):
        return outputs["table"][: self.vocabulary_size]


def _scorer(backbone, softmax_chunk):
    return learner_lib.Learner(
        task_model.GPT1TaskModel(backbone),
        scorer=_OverWords(
            vocabulary_size=backbone.vocabulary_size,
            chunk_size=softmax_chunk,
        ),
    )
