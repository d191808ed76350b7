import json

import pytest

from gpt1_keras.data import examples
from gpt1_keras.tasks import zero_shot
from tests.reference import letter_tokenizer

EXAMPLE = examples.Example("doc ument", "why?", ("a", "bcd", "ef", "a"), 2)


@pytest.mark.parametrize(
    "limit, prefix, longest",
    [
        (50, "documentwhy?", "bcd"),
        (15, "documentwhy?", "bcd"),
        (12, "umentwhy?", "bcd"),
        (7, "why?", "bcd"),
        (5, "y?", "bcd"),
        (3, "?", "bc"),
    ],
)
def test_item(limit, prefix, longest):
    found = zero_shot.Reading().item(
        EXAMPLE,
        tokenizer=letter_tokenizer.LetterTokenizer(),
        max_sequence_length=limit,
    )
    assert "".join(map(chr, found.prefix)) == prefix
    answers = ["".join(map(chr, c.ids)) for c in found.continuations]
    assert answers == ["a", longest, "ef", "a"]
    assert {c.num_context for c in found.continuations} == {0}


def test_read(tmp_path):
    path = tmp_path / "RACE/dev/high/1.txt"
    path.parent.mkdir(parents=True)
    passage = {"article": "It rained.", "questions": ["What?"]}
    passage |= {"options": [["a", "b", "c", "d"]], "answers": ["B"]}
    path.write_text(json.dumps(passage))
    probe = zero_shot.Reading()
    (row,) = probe.read(tmp_path, "dev")
    assert (row.label, row.group) == (1, "high")
    assert (probe.name, probe.random, probe.needs_train) == (
        "race",
        0.25,
        False,
    )
