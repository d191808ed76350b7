import json
import tarfile

import pytest
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import question_answering

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


def expected(group="middle"):
    article = "It rained. Tom stayed in."
    return [
        examples.Example(
            article, "Who stayed in?", ("Ann", "Tom", "Sue", "Bob"), 1, group
        ),
        examples.Example(
            article,
            "It   _  .",
            ("snowed", "froze", "blew", "rained"),
            3,
            group,
        ),
    ]


def write(folder, name, passage, place="race/RACE/dev"):
    path = folder / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = passage if isinstance(passage, str) else json.dumps(passage)
    path.write_text(content)
    return path


@pytest.fixture
def warnings(monkeypatch):
    shown = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *values: shown.append(text % values)
    )
    return shown


@pytest.mark.parametrize("place", ["race/RACE/dev", "RACE/dev", "race/dev"])
def test_official_format(tmp_path, place, warnings):
    write(tmp_path, "high/7.txt", PASSAGE, place)
    write(tmp_path, "middle/1.txt", PASSAGE, place)
    assert question_answering.read_race(tmp_path, "dev") == expected(
        "middle"
    ) + expected("high")
    assert warnings == [
        f"{tmp_path}/{place}: 4 examples, the official race dev has 4887"
    ]


def test_passages_come_by_number(tmp_path):
    for number in (10, 9, 100):
        write(
            tmp_path, f"high/{number}.txt", PASSAGE | {"article": str(number)}
        )
    texts = [
        example.text
        for example in question_answering.read_race(tmp_path, "dev")
    ]
    assert texts == ["9", "9", "10", "10", "100", "100"]


@pytest.mark.parametrize(
    "passage, place, reason",
    [
        (
            PASSAGE | {"answers": ["B", "E"]},
            " question 2",
            "label 'E' is none of A, B, C, D",
        ),
        (
            PASSAGE | {"answers": ["B", ["D"]]},
            " question 2",
            "label ['D'] is none of A, B, C, D",
        ),
        (
            PASSAGE | {"questions": ["", "Why?"]},
            " question 1",
            "question is empty",
        ),
        (
            PASSAGE | {"options": [["a", "b"], ["c"] * 4]},
            " question 1",
            "not 4 options",
        ),
        (
            PASSAGE | {"options": ["abcd", ["c"] * 4]},
            " question 1",
            "not 4 options",
        ),
        (
            PASSAGE | {"options": [["a", "b", "c", " "], ["c"] * 4]},
            " question 1",
            "option is empty",
        ),
        (
            PASSAGE | {"answers": ["B"]},
            "",
            "questions, options and answers differ in number",
        ),
        (
            PASSAGE | {"options": None},
            "",
            "questions, options or answers are no list",
        ),
        (PASSAGE | {"article": ""}, "", "article is empty"),
        ("[]", "", "no JSON object"),
        (
            "{",
            "",
            "no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))",
        ),
    ],
)
def test_bad_questions_and_passages(tmp_path, passage, place, reason, warnings):
    write(tmp_path, "middle/1.txt", PASSAGE)
    path = write(tmp_path, "middle/2.txt", passage)
    found = question_answering.read_race(tmp_path, "dev")
    assert found[:2] == expected() and len(found) == (3 if place else 2)
    assert warnings[0] == f"{path}{place}: {reason}; left out"
    write(tmp_path, "middle/3.txt", passage)
    with pytest.raises(errors.InputError) as caught:
        question_answering.read_race(tmp_path, "dev")
    assert str(caught.value).startswith(f"{path}{place}: {reason}; 2 of ")


def test_missing(tmp_path):
    with pytest.raises(
        errors.InputError, match="race/RACE/train does not exist: put"
    ):
        question_answering.read_race(tmp_path, "train")
    with pytest.raises(errors.InputError, match="split 'val' is none of"):
        question_answering.read_race(tmp_path, "val")
    (tmp_path / "race/RACE/train").mkdir(parents=True)
    with pytest.raises(
        errors.InputError, match=r"has no files middle/\*.txt or .*: unpack"
    ):
        question_answering.read_race(tmp_path, "train")


@pytest.mark.slow
@pytest.mark.needs_data
def test_real_files(shared_file, tmp_path, warnings):
    with tarfile.open(
        shared_file("data/race/RACE_train_dev.tar.xz")
    ) as archive:
        archive.extractall(tmp_path, filter="data")
    for split, groups in (
        # Lai et al. 2017, table 2.
        ("train", {"middle": 25_421, "high": 62_445}),
        ("dev", {"middle": 1_436, "high": 3_451}),
    ):
        found = [
            example.group
            for example in question_answering.read_race(tmp_path, split)
        ]
        assert {group: found.count(group) for group in groups} == groups
    assert not warnings
