import json

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras import results

JSON = st.dictionaries(st.text(), st.integers() | st.text() | st.none())


@settings(
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(JSON))
def test_lines_come_back(tmp_path, objects):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    assert results.read_json_lines(path) == objects
    # A run that is killed leaves a part of a line.
    with open(path, "a") as file:
        file.write('{"step": 7')
    assert results.read_json_lines(path) == objects


def test_no_file_has_no_lines(tmp_path):
    assert results.read_json_lines(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("line", ['{"step"', "3", "[]", ""])
def test_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 1}}\n{line}\n{{"step": 3}}\n')
    with pytest.raises(errors.InputError, match=r"metrics\.jsonl:2: "):
        results.read_json_lines(path)


def test_damaged_object_is_named(tmp_path):
    path = tmp_path / "result.json"
    path.write_text('{"run": "x"}')
    assert results.read_json(path) == {"run": "x"}
    path.write_bytes(b'{"run":\n\xff}')
    with pytest.raises(errors.InputError, match=r"result\.json:2: "):
        results.read_json(path)
