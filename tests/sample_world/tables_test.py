import pytest

from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import tables

FILES = ("words", "sentences", "events", "plots")


@pytest.mark.parametrize("name", FILES)
def test_lines_are_short_ascii(name):
    text = (tables.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 80


def test_every_template_can_be_read():
    for entries in tables.sections("sentences").values():
        for entry in entries:
            sentences.parse(entry)


def test_continued_lines_and_rows():
    assert len(set(tables.words("food"))) == len(tables.words("food")) > 20
    assert {len(row) for row in tables.rows("trade")} == {5}
