"""Perplexity of any text under any preset."""

import time
import typing

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import precision
from gpt1_keras import results
from gpt1_keras.data import prepare
from gpt1_keras.evaluation import held_out
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.text import subwords
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses


@checks.value_object
class Scoring:
    """How text is scored."""

    # Tokens to score, from the beginning of each file; None: all.
    num_tokens: checks.Count | None
    sequence_length: checks.Length | None  # of a window; None: all positions
    stride: checks.Count  # tokens by which the window moves
    batch_size: checks.NotRecipe[checks.Count]  # windows per forward pass
    softmax_chunk: checks.SoftmaxChunk = 512


def perplexity(
    *,
    preset: checks.Path | None,
    corpus: checks.Path,
    split: typing.Literal["all", "train", "held_out"],
    scoring: Scoring,
    config_sha256,
    workdir=None,
):
    """Score text; with a workdir, write `result.json` there.

    `corpus` is a `.txt` file, a folder of them, or prepared shards, which alone
    have the splits "train" and "held_out". Every token except the first of each
    file is scored once, given the tokens before it in its file and window. The
    softmax covers the vocabulary only. Returns the dict of `held_out.score`.
    """
    started = time.monotonic()
    precision.set_dtype("float32")
    pretrained = presets.Pretrained(
        preset=preset, num_transferred_layers=None, dropout=0.0
    )
    recipe = prepare.Recipe(pretrained.tokenizer)
    shards, _ = prepare.open_corpus(corpus, recipe)
    facts = {"preset_sha256": presets.sha256(pretrained.directory)}
    facts["corpus_sha256"] = shards.index.get("request")
    if workdir and results.is_finished(workdir, config_sha256, **facts):
        return results.read(workdir).get("metrics")
    texts = shards.split(split)
    longest = int(texts.lengths.max(initial=0))
    if longest < 2:  # The first token of a text is not scored.
        raise errors.InputError(
            f"`corpus`: no file of {corpus} in split {split!r} has two tokens:"
            " give more text, or set `split` to 'all'"
        )
    num_tokens = int(texts.lengths.sum())
    logging.info(f"files: {len(texts.lengths):,}, tokens: {num_tokens:,}")
    backbone = pretrained.backbone(num_special_tokens=0)  # Texts have none.
    positions = backbone.max_sequence_length
    window = presets.check_length(scoring.sequence_length, positions)
    window = min(window, longest)
    learner = learner_lib.Learner(
        task_model.GPT1TaskModel(backbone),
        scorer=losses.LanguageModelLoss(chunk_size=scoring.softmax_chunk),
    )
    metrics = held_out.score(
        learner,
        texts,
        sequence_length=window,
        stride=scoring.stride,
        batch_size=scoring.batch_size,
        tokens=scoring.num_tokens,
        description="perplexity",
    )
    logging.info(
        f"perplexity {metrics['perplexity']:.2f} per token"
        f" ({metrics['tokens']:,}), {metrics['word_perplexity']:.2f} per word"
        f" ({metrics['words']:,}), {metrics['bits_per_byte']:.3f} bits per byte"
    )
    ids = (texts.read(book, 0, n) for book, n in enumerate(texts.lengths))
    unknown = sum(int((each == subwords.UNKNOWN_ID).sum()) for each in ids)
    easy = "they are easy to predict, so both perplexities are too low"
    subwords.warn_of_unknown("perplexity", unknown, num_tokens, easy)
    if workdir is not None:
        results.write(
            workdir,
            run="perplexity",
            task="language_model",
            split=split,
            metrics=metrics,
            num_examples=metrics["tokens"],
            config_sha256=config_sha256,
            seconds=time.monotonic() - started,
            preset=str(pretrained.directory),
            **facts,
            corpus=str(corpus),
            sequence_length=window,
            unknown_share=unknown / num_tokens,
        )
    return metrics
