"""Question answering and commonsense: one of several answers; accuracy."""

from gpt1_keras.data import transforms
from gpt1_keras.data.readers import race as race_reader
from gpt1_keras.data.readers import story_cloze as story_cloze_reader
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import targets
from gpt1_keras.tasks import task


def race():
    """RACE: a passage, a question and four answers; two groups."""
    return _task("race", race_reader.read)


def story_cloze():
    """Story Cloze Test: a story and two endings."""
    return _task("story_cloze", story_cloze_reader.read)


def _task(name, read):
    return task.Task(
        name=name,
        read=read,
        transform=transforms.multiple_choice,
        build_head=heads.ChoiceHead,
        target=targets.Choice(),
        metrics=(metrics.accuracy,),
    )
