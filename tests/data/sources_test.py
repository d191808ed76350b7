import hashlib
import re

import pytest

from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering
from gpt1_keras.data.readers import winograd
from gpt1_keras.errors import InputError
from tools.downloads import official_files

READERS = {
    "cola": glue.read_cola,
    "sst2": glue.read_sst2,
    "mrpc": glue.read_mrpc,
    "qqp": glue.read_qqp,
    "stsb": glue.read_stsb,
    "mnli": glue.read_mnli,
    "qnli": glue.read_qnli,
    "rte": glue.read_rte,
    "wnli": glue.read_wnli,
    "ax": glue.read_ax,
    "snli": nli.read_snli,
    "scitail": nli.read_scitail,
    "race": question_answering.read_race,
    "dprd": winograd.read_dprd,
    "wsc": winograd.read_wsc,
}
SPLITS = {"ax": ["test"], "wsc": ["test"], "dprd": ["train", "test"]}


def test_every_source_but_openai_has_its_reader():
    assert set(official_files.SOURCES) - set(READERS) == {
        "vocabulary",
        "weights",
    }


@pytest.mark.parametrize("name", READERS)
def test_readers_look_where_the_results_are(tmp_path, name):
    """Of a file that is there, though empty, no reader says it is missing."""
    source = official_files.SOURCES[name]
    for split in SPLITS.get(name, ["train", "dev", "test"]):
        with pytest.raises(InputError, match="does not exist"):
            READERS[name](tmp_path, split)
    for result in source.results:
        path = tmp_path / source.folder / result
        if name == "race":
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
    for split in SPLITS.get(name, ["train", "dev", "test"]):
        try:
            READERS[name](tmp_path, split)
        except InputError as error:
            assert "does not exist" not in str(error)


@pytest.mark.parametrize("name", official_files.SOURCES)
def test_results_are_what_is_unpacked(name):
    source = official_files.SOURCES[name]
    if source.members is None:
        return
    for result in source.results:
        example = f"{result}/12.txt" if name == "race" else result
        assert source.members.fullmatch(example)
    for other in ("CoLA/original/raw.tsv", "../x.tsv", "RACE/x", "a.json"):
        assert not source.members.fullmatch(other)


def test_addresses_and_sums():
    files = {
        file
        for source in official_files.SOURCES.values()
        for file in source.files
    }
    assert len({file.name for file in files}) == len(files)
    for file in files:
        assert re.fullmatch(r"https?://[^ ?#]+/[\w.-]+", file.url)
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    unknown = {file.name for file in files if file.sha256 is None}
    assert unknown == {
        *("WSCollection.xml", "params_shapes.json"),
        *(f"params_{i}.npy" for i in range(10)),
    }


@pytest.mark.needs_data
@pytest.mark.parametrize(
    "file, place, cut",
    [
        ("encoder_bpe_40000.json", "gpt1_vocab/encoder_bpe_40000.json", 0),
        ("vocab_40000.bpe", "gpt1_vocab/vocab_40000.bpe", 0),
        ("AX.tsv", "glue/diagnostic/diagnostic.tsv", 0),
        ("test.c.txt", "dpr/test.c.txt", 0),
        # Our copy ends with one line break more.
        ("train.c.txt", "dpr/train.c.txt", 1),
    ],
)
def test_published_sums_are_those_of_the_files(shared_file, file, place, cut):
    content = shared_file(f"data/{place}").read_bytes()
    content = content[: len(content) - cut]
    (remote,) = {
        each
        for source in official_files.SOURCES.values()
        for each in source.files
        if each.name == file
    }
    assert len(content) == remote.size
    assert hashlib.sha256(content).hexdigest() == remote.sha256
