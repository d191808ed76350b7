"""All benchmarks by name."""

from gpt1_keras import errors
from gpt1_keras.tasks import classification
from gpt1_keras.tasks import entailment
from gpt1_keras.tasks import multiple_choice
from gpt1_keras.tasks import names
from gpt1_keras.tasks import similarity

# In the order of the paper's tables 2 to 4.
_OF_THE_PAPER = {
    "snli": entailment.snli,
    "mnli": entailment.mnli,
    "qnli": entailment.qnli,
    "rte": entailment.rte,
    "scitail": entailment.scitail,
    "race": multiple_choice.race,
    "story_cloze": multiple_choice.story_cloze,
    "mrpc": similarity.mrpc,
    "qqp": similarity.qqp,
    "stsb": similarity.stsb,
    "sst2": classification.sst2,
    "cola": classification.cola,
}
# What GLUE has besides.
_OF_GLUE = {"wnli": entailment.wnli, "ax": entailment.ax}

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
    make = names.find(name, _OF_THE_PAPER | _OF_GLUE, "benchmark")
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
