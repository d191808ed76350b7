import csv
import json
import tarfile

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import question_answering as qa

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
    path = folder / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = passage if isinstance(passage, str) else json.dumps(passage)
    path.write_text(content)
    return path


@pytest.mark.parametrize("place", ["race/RACE/dev", "RACE/dev", "race/dev"])
def test_race(tmp_path, place, logged):
    write_race(tmp_path, "high/7.txt", PASSAGE, place)
    write_race(tmp_path, "middle/1.txt", PASSAGE, place)
    expected = race_rows("middle") + race_rows("high")
    assert qa.read_race(tmp_path, "dev") == expected and not logged


def test_race_passages_are_ordered_by_number(tmp_path):
    for number in (10, 9, 100):
        passage = PASSAGE | {"article": str(number)}
        write_race(tmp_path, f"high/{number}.txt", passage)
    texts = [example.text for example in qa.read_race(tmp_path, "dev")]
    assert texts == ["9", "9", "10", "10", "100", "100"]


FOUR = ["c"] * 4


@pytest.mark.parametrize(
    "passage, place, reason",
    [
        (PASSAGE | {"answers": ["B", "E"]}, " question 2", "label 'E' is not one of A, B, C, D"),
        (PASSAGE | {"answers": ["B", ["D"]]}, " question 2", "label ['D'] is not one of A, B, C, D"),
        (PASSAGE | {"questions": ["", "Why?"]}, " question 1", "question is empty"),
        (PASSAGE | {"options": [["a", "b"], FOUR]}, " question 1", "not 4 options"),
        (PASSAGE | {"options": ["abcd", FOUR]}, " question 1", "not 4 options"),
        (PASSAGE | {"options": [["a", "b", "c", " "], FOUR]}, " question 1", "option is empty"),
        (PASSAGE | {"answers": ["B"]}, "", "questions, options and answers differ in number"),
        (PASSAGE | {"options": None}, "", "questions, options and answers are not all lists"),
        (PASSAGE | {"article": ""}, "", "article is empty"),
        ("[]", "", "not a JSON object"),
        ("{", "", "invalid JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
    ],
)  # fmt: skip
def test_bad_questions_and_passages(tmp_path, passage, place, reason, logged):
    write_race(tmp_path, "middle/1.txt", PASSAGE)
    path = write_race(tmp_path, "middle/2.txt", passage)
    found = qa.read_race(tmp_path, "dev")
    assert found[:2] == race_rows() and len(found) == (3 if place else 2)
    assert logged[0] == f"{path}{place}: {reason}; skipped"
    write_race(tmp_path, "middle/3.txt", passage)
    with pytest.raises(errors.InputError) as caught:
        qa.read_race(tmp_path, "dev")
    assert str(caught.value).startswith(f"{path}{place}: {reason}; 2 of ")


def test_missing_race(tmp_path):
    for split, message in (
        ("train", "race/RACE/train does not exist: put"),
        ("val", "split 'val' is not one of"),
    ):
        with pytest.raises(errors.InputError, match=message):
            qa.read_race(tmp_path, split)
    (tmp_path / "race/RACE/train").mkdir(parents=True)
    with pytest.raises(errors.InputError, match=r"no files middle/\*.txt or"):
        qa.read_race(tmp_path, "train")


@pytest.mark.slow
@pytest.mark.needs_data
def test_real_race(shared_file, tmp_path, logged):
    with tarfile.open(
        shared_file("data/race/RACE_train_dev.tar.xz")
    ) as archive:
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
    path = folder / place / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as output:
        csv.writer(output).writerows([HEADER, *stories])
    return path


def read_numbers(folder, split):
    return [
        int(example.text.split(".")[0].removeprefix("Story "))
        for example in qa.read_story_cloze(folder, split)
    ]


@pytest.mark.parametrize("place", ["story_cloze", ""])
def test_story_cloze(tmp_path, place):
    write_stories(tmp_path, map(story, range(2)), TEST, place)
    first, second = qa.read_story_cloze(tmp_path, "test")
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


@pytest.mark.parametrize("count, num_dev", [(2, 1), (5, 1), (100, 20)])
def test_other_sizes_keep_the_share(tmp_path, count, num_dev):
    write_stories(tmp_path, map(story, range(count)))
    dev = read_numbers(tmp_path, "dev")
    assert len(dev) == num_dev
    both = read_numbers(tmp_path, "train") + dev
    assert sorted(both) == list(range(count))


@pytest.mark.parametrize(
    "row, reason",
    [
        (story(2)[:-1] + [3], "label '3' is not one of 1, 2"),
        (story(2)[:-1], "7 columns, not 8"),
        ([*story(2)[:5], "", "Bad.", 1], "RandomFifthSentenceQuiz1 is empty"),
    ],
)
def test_bad_stories(tmp_path, row, reason):
    path = write_stories(tmp_path, [story(0), row, story(1)], TEST)
    assert read_numbers(tmp_path, "test") == [0, 1]
    write_stories(tmp_path, [story(0), row, row], TEST)
    with pytest.raises(errors.InputError) as caught:
        qa.read_story_cloze(tmp_path, "test")
    assert str(caught.value).startswith(f"{path} line 3: {reason}; 2 of 3 rows")


def test_missing_stories(tmp_path):
    for split, message in (
        ("dev", f"story_cloze/{VALIDATION} does not exist"),
        ("val", "split 'val' is not one of"),
    ):
        with pytest.raises(errors.InputError, match=message):
            qa.read_story_cloze(tmp_path, split)
    write_stories(tmp_path, [story(0)])
    with pytest.raises(errors.InputError, match="only 1 story, too few to spl"):
        qa.read_story_cloze(tmp_path, "train")
