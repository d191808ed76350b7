"""Natural language inference: an ordered pair of texts; accuracy."""

from gpt1_keras.data import transforms
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import scitail as scitail_reader
from gpt1_keras.data.readers import snli as snli_reader
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import targets
from gpt1_keras.tasks import task


def snli():
    """Stanford NLI: premises are captions of pictures."""
    return _task("snli", snli_reader.read, snli_reader.LABELS)


def mnli():
    """MultiNLI: ten genres, dev and test in two groups."""
    return _task("mnli", glue.read_mnli, glue.THREE_WAY)


def qnli():
    """Question NLI: a question and a sentence that may answer it."""
    return _task("qnli", glue.read_qnli, glue.TWO_WAY)


def rte():
    """Recognising Textual Entailment."""
    return _task("rte", glue.read_rte, glue.TWO_WAY)


def scitail():
    """SciTail: hypotheses are answers to science questions."""
    return _task("scitail", scitail_reader.read, scitail_reader.LABELS)


def wnli():
    """Winograd NLI, of GLUE but not of the paper."""
    return _task("wnli", glue.read_wnli, glue.BINARY)


def ax():
    """GLUE's diagnostic set, predicted by a model of MultiNLI."""
    return _task("ax", glue.read_ax, glue.THREE_WAY)


def _task(name, read, words):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.entailment,
        build_head=heads.SumHead,
        target=targets.Classes(words),
        metrics=(metrics.accuracy,),
    )
