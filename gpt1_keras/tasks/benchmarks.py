"""The benchmarks, one row each: the paper's twelve and the rest of GLUE.

To add a benchmark, write its reader in `data/readers` and add a row here; then
`--gin gin/finetune.gin --set "benchmarks.benchmark.name = 'NAME'"` fine-tunes
on it.
"""

import dataclasses

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering as qa
from gpt1_keras.evaluation import metrics
from gpt1_keras.tasks import task as task_lib

_row = task_lib.Task
_BINARY = task_lib.Classes(glue.BINARY)
_TWO_WAY = task_lib.Classes(glue.TWO_WAY)
_THREE_WAY = task_lib.Classes(glue.THREE_WAY)
_SCITAIL = task_lib.Classes(nli.SCITAIL_LABELS)
_SIMILARITY = task_lib.ScoreDistribution(glue.LOWEST_SCORE, glue.HIGHEST_SCORE)
_CHOICE = task_lib.Choice()
_SINGLE = transforms.classification
_PAIR = transforms.entailment
_SIMILAR = transforms.similarity
_QUESTION = transforms.multiple_choice
_PARAPHRASE = ("different", "the same meaning")


# Counts of SNLI exclude pairs without a gold label, those of MNLI include both
# groups, and those of Story Cloze are after the split of its validation file.
# Releases differ by a row or two; QQP's train.tsv has three rows with an empty
# question and some twenty broken lines.
# fmt: off
# The paper's, in the order of tables 2 to 4, then the rest of GLUE.
_ROWS = (
    _row("snli", nli.read_snli, _PAIR, _THREE_WAY, metrics.accuracy,
         (549_367, 9_842, 9_824), has_labelled_test=True),
    _row("mnli", glue.read_mnli, _PAIR, _THREE_WAY, metrics.accuracy,
         (392_702, 9_815 + 9_832, 9_796 + 9_847)),
    _row("qnli", glue.read_qnli, _PAIR, _TWO_WAY, metrics.accuracy,
         (104_743, 5_463, 5_463)),
    _row("rte", glue.read_rte, _PAIR, _TWO_WAY, metrics.accuracy,
         (2_490, 277, 3_000)),
    _row("scitail", nli.read_scitail, _PAIR, _SCITAIL, metrics.accuracy,
         (23_596, 1_304, 2_126), has_labelled_test=True),
    _row("race", qa.read_race, _QUESTION, _CHOICE, metrics.accuracy,
         (87_866, 4_887, 4_934), has_labelled_test=True),
    _row("story_cloze", qa.read_story_cloze, _QUESTION, _CHOICE,
         metrics.accuracy, (1_497, 374, 1_871), has_labelled_test=True),
    _row("mrpc", glue.read_mrpc, _SIMILAR, _BINARY, metrics.f1_and_accuracy,
         (3_668, 408, 1_725), class_meanings=_PARAPHRASE),
    _row("qqp", glue.read_qqp, _SIMILAR, _BINARY, metrics.f1_and_accuracy,
         (363_846, 40_430, 390_965), class_meanings=_PARAPHRASE),
    _row("stsb", glue.read_stsb, _SIMILAR, _SIMILARITY,
         metrics.pearson_and_spearman, (5_749, 1_500, 1_379)),
    _row("sst2", glue.read_sst2, _SINGLE, _BINARY, metrics.accuracy,
         (67_349, 872, 1_821), class_meanings=("negative", "positive")),
    _row("cola", glue.read_cola, _SINGLE, _BINARY,
         metrics.matthews_and_accuracy, (8_551, 1_043, 1_063),
         class_meanings=("unacceptable", "acceptable")),
    _row("wnli", glue.read_wnli, _PAIR, _BINARY, metrics.accuracy,
         (635, 71, 146), class_meanings=("does not follow", "follows")),
    # The model fine-tuned on MNLI predicts the diagnostic set.
    _row("ax", glue.read_ax, _PAIR, _THREE_WAY, metrics.accuracy,
         (0, 0, 1_104)),
)
# fmt: on
BENCHMARKS = {each.name: each for each in _ROWS}


def benchmark(name: checks.Column, regression: bool = False):
    """Return the `Task` with a name of `BENCHMARKS`.

    With `regression`, STS-B is learned as regression on its score, instead of
    as a distribution over whole numbers.
    """
    found = checks.find_name(name, BENCHMARKS, "benchmark")
    if name == "stsb" and regression:
        return dataclasses.replace(
            found, label_space=task_lib.Score(*_SIMILARITY.score_range)
        )
    return found


def of_preset(preprocessor):
    """Return the `Task` of a preset's `GPT1TaskPreprocessor`."""
    if preprocessor.task == "custom":
        raise errors.InputError(
            "this model was fine-tuned on your own rows: use "
            "gin/evaluate_custom.gin or gin/export_custom.gin"
        )
    return benchmark(preprocessor.task, regression=preprocessor.is_regression)
