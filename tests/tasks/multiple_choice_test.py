import json

import pytest

from gpt1_keras.data import examples
from gpt1_keras.data import transforms
from gpt1_keras.layers import heads
from gpt1_keras.tasks import benchmarks
from tests.reference import letter_tokenizer


@pytest.mark.parametrize("name", ["race", "story_cloze"])
def test_answers_share_one_head(name):
    found = getattr(benchmarks, name)()
    assert found.name == name
    assert found.transform is transforms.multiple_choice
    assert found.build_head is heads.ChoiceHead
    assert found.target.num_outputs == 1


def test_race_by_school(tmp_path):
    for group, answer in (("middle", "A"), ("high", "D")):
        folder = tmp_path / "race/RACE/dev" / group
        folder.mkdir(parents=True)
        passage = {
            "article": "It rained.",
            "questions": ["What did it do?"] * 2,
            "options": [["rain", "snow", "blow", "freeze"]] * 2,
            "answers": ["A", answer],
        }
        (folder / "1.txt").write_text(json.dumps(passage))
    found = benchmarks.race()
    rows = found.read(tmp_path, "dev")
    assert found.measure(rows, [0, 0, 0, 0]) == {
        "accuracy": 0.75,
        "accuracy_high": 0.5,
        "accuracy_middle": 1.0,
    }


def test_story_cloze(tmp_path):
    header = [
        *(f"InputSentence{i}" for i in (1, 2, 3, 4)),
        *(f"RandomFifthSentenceQuiz{i}" for i in (1, 2)),
        "AnswerRightEnding",
    ]
    lines = [",".join(header), "A.,B.,C.,D.,No.,Yes.,2"]
    file = "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"
    (tmp_path / "story_cloze").mkdir()
    (tmp_path / "story_cloze" / file).write_text("\n".join(lines))
    found = benchmarks.story_cloze()
    (row,) = found.read(tmp_path, "test")
    assert (row.text, row.choices) == ("A. B. C. D.", ("No.", "Yes."))
    assert found.measure([row], [1]) == {"accuracy": 1.0}


class Letters(letter_tokenizer.LetterTokenizer):
    start_id, delimiter_id, extract_id = 128, 129, 130


def test_a_race_batch_by_hand(tmp_path):
    """From the file of a passage to the arrays of a batch."""
    folder = tmp_path / "race" / "RACE" / "dev" / "middle"
    folder.mkdir(parents=True)
    passage = {
        "article": "ab",
        "questions": ["c?", "d"],
        "options": [["e", "fg", "h", "i"], ["j", "k", "l", "m"]],
        "answers": ["B", "D"],
        "id": "middle1.txt",
    }
    (folder / "1.txt").write_text(json.dumps(passage))
    (tmp_path / "sample_benchmarks.json").write_text("{}")
    task = benchmarks.race()
    rows = task.read(tmp_path, "dev")
    encoded = examples.EncodedExamples(
        rows,
        tokenizer=Letters(),
        transform=task.transform,
        max_sequence_length=32,
        name="race",
    )
    found = encoded.batch([0, 1], 9)
    s, d, x = 128, 129, 130
    a, b, c, dd, e, f, g, h, i, j, k, ll, m = b"abcdefghijklm"
    q = ord("?")
    assert found["token_ids"].tolist() == [
        [
            [s, a, b, c, q, d, e, x, 0],
            [s, a, b, c, q, d, f, g, x],
            [s, a, b, c, q, d, h, x, 0],
            [s, a, b, c, q, d, i, x, 0],
        ],
        [
            [s, a, b, dd, d, j, x, 0, 0],
            [s, a, b, dd, d, k, x, 0, 0],
            [s, a, b, dd, d, ll, x, 0, 0],
            [s, a, b, dd, d, m, x, 0, 0],
        ],
    ]
    assert found["extract_position"].tolist() == [[7, 8, 7, 7], [6, 6, 6, 6]]
    assert found["token_weights"][0, 0].tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0]
    assert [task.target.encode(row) for row in rows] == [1, 3]
