"""Examples written by hand, seen through the readers of official files."""

import dataclasses

from gpt1_keras.data import examples
from gpt1_keras.data.readers import lambada
from gpt1_keras.data.readers import winograd
from gpt1_keras.data.sample_world import probe_files
from tests.data.sample_world import benchmark_files_test

BEE = examples.Example(
    "The bee stung the dog because it was angry.",
    "it",
    ("The bee", "the dog"),
    0,
)
SHE = examples.Example(
    'Ann & Co. asked "why", as she does, because she saw <it> because she left.',
    "she",
    ("Ann & Co.", "the cook"),
    1,
)


def test_pronouns_stand_in_blocks_of_four_lines():
    parts = {"train": [BEE, BEE], "dev": [BEE], "test": [BEE]}
    written = probe_files.dpr(parts)
    text = (
        "The bee stung the dog because it was angry.\nit\nThe bee,the dog\n"
        "The bee\n\n"
    )
    assert written == {"dpr/train.c.txt": 2 * text, "dpr/test.c.txt": text}


def test_schemas_as_xml_and_in_blocks(tmp_path):
    written = probe_files.wsc({"test": [BEE, SHE]})
    benchmark_files_test.write(tmp_path, written)
    expected = [
        dataclasses.replace(
            BEE, text="The bee stung the dog because [MASK] was angry."
        ),
        dataclasses.replace(
            SHE,
            text='Ann & Co. asked "why", as she does, because she saw <it>'
            " because [MASK] left.",
        ),
    ]
    assert winograd.read_wsc(tmp_path, "test") == expected
    (tmp_path / "winograd/WSCollection.xml").unlink()
    found = winograd.read_wsc(tmp_path, "test")
    assert found[0] == expected[0]
    assert [(e.choices, e.label) for e in found] == [
        (e.choices, e.label) for e in expected
    ]


def test_hidden_pronouns(tmp_path):
    written = probe_files.pdp({"test": [BEE]})
    assert written == {
        "winograd/PDP.txt": "The bee stung the dog because [MASK] was angry.\n"
        "[MASK]\n The bee , the dog \n The bee \n\n"
    }
    benchmark_files_test.write(tmp_path, written)
    assert winograd.read_pdp(tmp_path, "test") == [
        dataclasses.replace(
            BEE,
            text="The bee stung the dog because [MASK] was angry.",
            text_pair="",
        )
    ]


def test_passages_are_split_as_in_the_penn_treebank(tmp_path):
    passage = examples.Example(
        "Ann's dogs' bowl was gone. \"Don't cry,\" said Tom to",
        choices=("Ann",),
        label=0,
    )
    written = probe_files.lambada({"dev": [passage], "test": []})
    assert written == {
        "lambada/lambada_development_plain_text.txt": (
            "ann 's dogs ' bowl was gone . `` do n't cry , '' said tom to ann\n"
        ),
        "lambada/lambada_test_plain_text.txt": "",
    }
    benchmark_files_test.write(tmp_path, written)
    (found,) = lambada.read(tmp_path, "dev")
    assert found.choices == ("ann",)
