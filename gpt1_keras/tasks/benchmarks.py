"""All benchmarks by name."""

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import task

# -----------------------------------------------------------------------------
# Classification: one sentence, the label of one class.


def cola():
    """Corpus of Linguistic Acceptability: Matthews correlation."""
    return _task("cola", glue.read_cola, metrics.matthews_and_accuracy)


def sst2():
    """Stanford Sentiment Treebank, positive or negative: accuracy."""
    return _task("sst2", glue.read_sst2, metrics.accuracy)


def _task(name, read, metric):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.classification,
        build_head=heads.SumHead,
        target=task.Classes(glue.BINARY),
        metrics=(metric,),
    )


# -----------------------------------------------------------------------------
# Natural language inference: an ordered pair of texts; accuracy.


def snli():
    """Stanford NLI: premises are captions of pictures."""
    return _task_of_entailment("snli", nli.read_snli, nli.SNLI_LABELS)


def mnli():
    """MultiNLI: ten genres, dev and test in two groups."""
    return _task_of_entailment("mnli", glue.read_mnli, glue.THREE_WAY)


def qnli():
    """Question NLI: a question and a sentence that may answer it."""
    return _task_of_entailment("qnli", glue.read_qnli, glue.TWO_WAY)


def rte():
    """Recognising Textual Entailment."""
    return _task_of_entailment("rte", glue.read_rte, glue.TWO_WAY)


def scitail():
    """SciTail: hypotheses are answers to science questions."""
    return _task_of_entailment("scitail", nli.read_scitail, nli.SCITAIL_LABELS)


def wnli():
    """Winograd NLI, of GLUE but not of the paper."""
    return _task_of_entailment("wnli", glue.read_wnli, glue.BINARY)


def ax():
    """GLUE's diagnostic set, predicted by a model of MultiNLI."""
    return _task_of_entailment("ax", glue.read_ax, glue.THREE_WAY)


def _task_of_entailment(name, read, words):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.entailment,
        build_head=heads.SumHead,
        target=task.Classes(words),
        metrics=(metrics.accuracy,),
    )


# -----------------------------------------------------------------------------
# Semantic similarity: a pair of texts without an order.


def mrpc():
    """Microsoft Paraphrase Corpus: F1 of paraphrases."""
    return _task_of_similarity(
        "mrpc",
        glue.read_mrpc,
        task.Classes(glue.BINARY),
        metrics.f1_and_accuracy,
    )


def qqp():
    """Quora Question Pairs: F1 of duplicates."""
    return _task_of_similarity(
        "qqp",
        glue.read_qqp,
        task.Classes(glue.BINARY),
        metrics.f1_and_accuracy,
    )


def stsb(regression=False):
    """Semantic Textual Similarity Benchmark: Pearson correlation.

    Args:
        regression: bool. Whether the head has one output, the score, instead
            of a distribution over the whole numbers 0 to 5.
    """
    build = task.Score if regression else task.ScoreDistribution
    return _task_of_similarity(
        "stsb",
        glue.read_stsb,
        build(glue.LOWEST_SCORE, glue.HIGHEST_SCORE),
        metrics.pearson_and_spearman,
    )


def _task_of_similarity(name, read, target, metric):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.similarity,
        build_head=heads.SumHead,
        target=target,
        metrics=(metric,),
    )


# -----------------------------------------------------------------------------
# Question answering and commonsense: one of several answers; accuracy.


def race():
    """RACE: a passage, a question and four answers; two groups."""
    return _task_of_multiple_choice("race", question_answering.read_race)


def story_cloze():
    """Story Cloze Test: a story and two endings."""
    return _task_of_multiple_choice(
        "story_cloze", question_answering.read_story_cloze
    )


def _task_of_multiple_choice(name, read):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.multiple_choice,
        build_head=heads.ChoiceHead,
        target=task.Choice(),
        metrics=(metrics.accuracy,),
    )


# -----------------------------------------------------------------------------
# All benchmarks by name.

# In the order of the paper's tables 2 to 4.
_OF_THE_PAPER = {
    "snli": snli,
    "mnli": mnli,
    "qnli": qnli,
    "rte": rte,
    "scitail": scitail,
    "race": race,
    "story_cloze": story_cloze,
    "mrpc": mrpc,
    "qqp": qqp,
    "stsb": stsb,
    "sst2": sst2,
    "cola": cola,
}
# What GLUE has besides.
_OF_GLUE = {"wnli": wnli, "ax": ax}

NAMES = tuple(_OF_THE_PAPER)


def benchmark(name, regression=False):
    """Return the `Task` of that name: one of `NAMES`, "wnli" or "ax".

    Args:
        name: str.
        regression: bool. Of STS-B, whether its score is learnt by regression
            and not as weights on whole numbers.

    Raises:
        InputError: there is none; says which name is nearest.
    """
    make = checks.find_name(name, _OF_THE_PAPER | _OF_GLUE, "benchmark")
    return make(regression=regression) if name == "stsb" else make()


def of_preset(preprocessor):
    """Return the `Task` of a fine-tuned preset.

    Args:
        preprocessor: the `GPT1TaskPreprocessor` of the preset.
    """
    if preprocessor.task == "custom":
        raise errors.InputError(
            "this model was fine-tuned on your own rows: take "
            "gin/evaluate_custom.gin or gin/export_custom.gin"
        )
    return benchmark(preprocessor.task, regression=preprocessor.is_regression)
