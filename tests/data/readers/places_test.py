import re

import pytest

from gpt1_keras import errors
from gpt1_keras.data.readers import rows


def test_first_that_exists(tmp_path):
    for name in ("b", "c"):
        (tmp_path / name).mkdir()
    assert rows.find_file(tmp_path, ["a", "b", "c"]) == tmp_path / "b"
    assert rows.find_file(str(tmp_path), ["c"]) == tmp_path / "c"


def test_missing_names_the_usual_place(tmp_path):
    message = f"{tmp_path}/glue/CoLA/dev.tsv does not exist: put the official"
    with pytest.raises(errors.InputError, match=re.escape(message)):
        rows.find_file(tmp_path, ["glue/CoLA/dev.tsv", "CoLA/dev.tsv"])


def test_split():
    for split in ("train", "dev", "test"):
        rows.check_split(split)
    with pytest.raises(
        errors.InputError, match="'valid' is none of train, dev"
    ):
        rows.check_split("valid")
    with pytest.raises(errors.InputError, match="'dev' is none of test: "):
        rows.check_split("dev", ["test"])
