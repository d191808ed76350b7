"""Classification: one sentence, the label of one class."""

from gpt1_keras.data import transforms
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import targets
from gpt1_keras.tasks import task


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
        target=targets.Classes(glue.BINARY),
        metrics=(metric,),
    )
