import csv
import io
import json
import tarfile

import numpy as np
import pytest

from gpt1_keras.data import examples
from gpt1_keras.data.readers import question_answering as qa
from tests.reference import data_files

PASSAGE = {
    "article": "It rained. Tom stayed in.\n",
    "questions": ["Who stayed in?", "It   _  ."],
    "options": [
        ["Ann", "Tom", "Sue", "Bob"],
        ["snowed", "froze", "blew", "rained"],
    ],
    "answers": ["B", "D"],
    "id": "middle1.txt",
}


def race_rows(group="middle"):
    article = PASSAGE["article"].strip()
    questions = zip(PASSAGE["questions"], PASSAGE["options"], (1, 3))
    return [
        examples.Example(article, question, tuple(options), label, group)
        for question, options, label in questions
    ]


def write_race(folder, name, passage, place="race/RACE/dev"):
    return data_files.write(folder / place, name, json.dumps(passage))


def test_race(tmp_path, logged):
    for i, place in enumerate(("race/RACE/dev", "RACE/dev", "race/dev")):
        write_race(tmp_path / str(i), "high/7.txt", PASSAGE, place)
        write_race(tmp_path / str(i), "middle/1.txt", PASSAGE, place)
        expected = race_rows("middle") + race_rows("high")
        assert qa.read_race(tmp_path / str(i), "dev") == expected
    assert not logged
    for number in (10, 9, 100, "._9"):  # ordered by number, without hidden
        passage = PASSAGE | {"article": str(number)}
        write_race(tmp_path, f"high/{number}.txt", passage)
    texts = [example.text for example in qa.read_race(tmp_path, "dev")]
    assert texts == ["9", "9", "10", "10", "100", "100"]
    # What is bad is named, and costs a question or the whole passage.
    passage = PASSAGE | {"answers": ["B", "E"]}
    path = write_race(tmp_path, "high/11.txt", passage)
    assert len(qa.read_race(tmp_path, "dev")) == 7
    assert logged.pop().startswith(f"{path} question 2: label 'E' is not one")
    path.write_text("{}")
    assert len(qa.read_race(tmp_path, "dev")) == 6
    assert "are not lists of the same length; skipped" in logged.pop()


@pytest.mark.slow
@pytest.mark.needs_data
def test_real_race(shared_file, tmp_path, logged):
    path = shared_file("data/race/RACE_train_dev.tar.xz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    for split, groups in (
        # Lai et al. 2017, table 2.
        ("train", {"middle": 25_421, "high": 62_445}),
        ("dev", {"middle": 1_436, "high": 3_451}),
    ):
        found = [example.group for example in qa.read_race(tmp_path, split)]
        assert {group: found.count(group) for group in groups} == groups
    assert not logged


VALIDATION = "cloze_test_val__spring2016 - cloze_test_ALL_val.csv"
TEST = "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"
HEADER = [
    "InputStoryid",
    *(f"InputSentence{i}" for i in (1, 2, 3, 4)),
    *(f"RandomFifthSentenceQuiz{i}" for i in (1, 2)),
    "AnswerRightEnding",
]


def story(i):
    """A row whose text tells its number; the answers are 1, 2, 1, 2 ..."""
    texts = [f"Story {i}.", 'He said, "Hi".', "C.", "D.", "Good.", "Bad."]
    return [f"id{i}", *texts, 1 + i % 2]


def write_stories(folder, stories, file=VALIDATION, place="story_cloze"):
    text = io.StringIO()
    csv.writer(text).writerows([HEADER, *stories])
    data_files.write(folder / place, file, text.getvalue())


def read_numbers(folder, split):
    return [
        int(example.text.split(".")[0].removeprefix("Story "))
        for example in qa.read_story_cloze(folder, split)
    ]


def test_story_cloze(tmp_path):
    for i, place in enumerate(("story_cloze", "")):
        write_stories(tmp_path / str(i), map(story, range(2)), TEST, place)
        first, second = qa.read_story_cloze(tmp_path / str(i), "test")
        assert first == examples.Example(
            'Story 0. He said, "Hi". C. D.', choices=("Good.", "Bad."), label=0
        )
        assert second.label == 1


def test_split_of_the_paper(tmp_path):
    """1,497 and 374 stories, drawn as scikit-learn does from its seed."""
    write_stories(tmp_path, map(story, range(1871)))
    order = np.random.RandomState(3535999445).permutation(1871).tolist()
    assert read_numbers(tmp_path, "dev") == order[:374]
    assert read_numbers(tmp_path, "train") == order[374:]
    for count, num_dev in ((2, 1), (5, 1), (100, 20)):  # the same share
        write_stories(tmp_path, map(story, range(count)))
        dev = read_numbers(tmp_path, "dev")
        assert len(dev) == num_dev
        both = read_numbers(tmp_path, "train") + dev
        assert sorted(both) == list(range(count))
