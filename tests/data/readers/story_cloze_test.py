import csv

import numpy as np
import pytest
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import question_answering

VALIDATION = "cloze_test_val__spring2016 - cloze_test_ALL_val.csv"
TEST = "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"
HEADER = [
    "InputStoryid",
    *(f"InputSentence{i}" for i in (1, 2, 3, 4)),
    "RandomFifthSentenceQuiz1",
    "RandomFifthSentenceQuiz2",
    "AnswerRightEnding",
]


def story(i):
    """A row whose text tells its number; the answers are 1, 2, 1, 2 ..."""
    return [
        f"id{i}",
        f"Story {i}.",
        'He said, "Hi".',
        "C.",
        "D.",
        "Good.",
        "Bad.",
        1 + i % 2,
    ]


def write(folder, stories, file=VALIDATION, place="story_cloze"):
    path = folder / place / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as output:
        csv.writer(output).writerows([HEADER, *stories])
    return path


def numbers(found):
    return [
        int(example.text.split(".")[0].removeprefix("Story "))
        for example in found
    ]


@pytest.mark.parametrize("place", ["story_cloze", ""])
def test_official_format(tmp_path, place):
    write(tmp_path, map(story, range(2)), TEST, place)
    first, second = question_answering.read_story_cloze(tmp_path, "test")
    assert first == examples.Example(
        'Story 0. He said, "Hi". C. D.', choices=("Good.", "Bad."), label=0
    )
    assert second.label == 1


def test_split_of_the_paper(tmp_path, monkeypatch):
    """1,497 and 374 stories, drawn as scikit-learn does from its seed."""
    monkeypatch.setattr(logging, "warning", lambda *_: pytest.fail("warned"))
    write(tmp_path, map(story, range(1871)))
    train = numbers(question_answering.read_story_cloze(tmp_path, "train"))
    dev = numbers(question_answering.read_story_cloze(tmp_path, "dev"))
    order = np.random.RandomState(3535999445).permutation(1871)
    assert dev == order[:374].tolist()
    assert train == order[374:].tolist()


@pytest.mark.parametrize(
    "count, num_dev", [(2, 1), (5, 1), (100, 20), (1870, 374), (3742, 748)]
)
def test_other_sizes_keep_the_share(tmp_path, count, num_dev):
    write(tmp_path, map(story, range(count)))
    train = numbers(question_answering.read_story_cloze(tmp_path, "train"))
    dev = numbers(question_answering.read_story_cloze(tmp_path, "dev"))
    assert len(dev) == num_dev
    assert sorted(train + dev) == list(range(count))


def test_one_story_is_too_few_to_split(tmp_path):
    write(tmp_path, [story(0)])
    with pytest.raises(
        errors.InputError, match="has 1 story, too few to split"
    ):
        question_answering.read_story_cloze(tmp_path, "train")


@pytest.mark.parametrize(
    "row, reason",
    [
        (story(2)[:-1] + [3], "label '3' is none of 1, 2"),
        (story(2)[:-1], "7 columns, not 8"),
        ([*story(2)[:5], "", "Bad.", 1], "RandomFifthSentenceQuiz1 is empty"),
    ],
)
def test_bad_rows(tmp_path, row, reason):
    path = write(tmp_path, [story(0), row, story(1)], TEST)
    assert numbers(question_answering.read_story_cloze(tmp_path, "test")) == [
        0,
        1,
    ]
    write(tmp_path, [story(0), row, row], TEST)
    with pytest.raises(errors.InputError) as caught:
        question_answering.read_story_cloze(tmp_path, "test")
    assert str(caught.value).startswith(f"{path} line 3: {reason}; 2 of 3 rows")


def test_missing(tmp_path):
    with pytest.raises(
        errors.InputError, match=f"story_cloze/{VALIDATION} does not exist"
    ):
        question_answering.read_story_cloze(tmp_path, "dev")
    with pytest.raises(errors.InputError, match="split 'val' is none of"):
        question_answering.read_story_cloze(tmp_path, "val")
