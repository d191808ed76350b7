"""Semantic similarity: a pair of texts without an order."""

from gpt1_keras.data import transforms
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import targets
from gpt1_keras.tasks import task


def mrpc():
    """Microsoft Paraphrase Corpus: F1 of paraphrases."""
    return _task(
        "mrpc",
        glue.read_mrpc,
        targets.Classes(glue.BINARY),
        metrics.f1_and_accuracy,
    )


def qqp():
    """Quora Question Pairs: F1 of duplicates."""
    return _task(
        "qqp",
        glue.read_qqp,
        targets.Classes(glue.BINARY),
        metrics.f1_and_accuracy,
    )


def stsb(regression=False):
    """Semantic Textual Similarity Benchmark: Pearson correlation.

    Args:
        regression: bool. Whether the head has one output, the score, instead
            of a distribution over the whole numbers 0 to 5.
    """
    build = targets.Score if regression else targets.ScoreDistribution
    return _task(
        "stsb",
        glue.read_stsb,
        build(glue.LOWEST_SCORE, glue.HIGHEST_SCORE),
        metrics.pearson_and_spearman,
    )


def _task(name, read, target, metric):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.similarity,
        build_head=heads.SumHead,
        target=target,
        metrics=(metric,),
    )
