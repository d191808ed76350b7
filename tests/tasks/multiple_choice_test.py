import json

import pytest

from gpt1_keras.data import transforms
from gpt1_keras.layers import heads
from gpt1_keras.tasks import multiple_choice


@pytest.mark.parametrize("name", ["race", "story_cloze"])
def test_answers_share_one_head(name):
    found = getattr(multiple_choice, name)()
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
    found = multiple_choice.race()
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
    found = multiple_choice.story_cloze()
    (row,) = found.read(tmp_path, "test")
    assert (row.text, row.choices) == ("A. B. C. D.", ("No.", "Yes."))
    assert found.measure([row], [1]) == {"accuracy": 1.0}
