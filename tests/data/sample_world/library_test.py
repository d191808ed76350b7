import re

import pytest

from gpt1_keras.data.sample_world import library

USED = re.compile(r"\{@([a-z_]+)\+?\}")


@pytest.mark.parametrize("name", ["sentences", "events", "plots"])
def test_every_word_list_that_is_used_exists(name):
    lists = library.sections("words")
    for section, lines in library.sections(name).items():
        for line in lines:
            for used in USED.findall(line):
                assert used in lists, f"[{section}] {line}"


@pytest.mark.parametrize("name", sorted(library.sections("words")))
def test_word_lists_and_tables_are_well_formed(name):
    lines = library.sections("words")[name]
    if ";" in lines[0]:
        assert len({len(row) for row in library.rows(name)}) == 1
        assert all(all(row) for row in library.rows(name))
    else:
        assert len(library.words(name)) >= 1


def test_text_before_a_section_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    (tmp_path / "loose.txt").write_text("# fine\nno section yet\n")
    with pytest.raises(ValueError, match="loose.txt:2"):
        library.sections("loose")
