import collections
import re

import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import zero_shot as readers
from tests.reference import data_files

Example = examples.Example

DPRD = """The cup fell off the tray because it was wet.
it
The cup,the tray
the tray

Ann called Sue, but she was out.
she
Ann,Sue
Sue

"""
PDP = """Tom saw  [MASK]  dog and Bob. He ran.
[MASK]
 Tom , Bob ,the dog 
 tom 
"""
SCHEMA = """<schema><text><txt1>
The cup fell off the tray,
so</txt1> <pron> It </pron> <txt2>{}</txt2></text>
<quote><pron>it</pron></quote>
<answers><answer> The cup </answer><answer>the tray</answer></answers>
<correctAnswer>{}</correctAnswer><source>us</source></schema>
"""


def collection(*schemas):
    declaration = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    text = f"{declaration}<collection>{''.join(schemas)}</collection>"
    return text.encode("latin-1")


def test_blocks(tmp_path, logged):
    cup = "The cup fell off the tray because [MASK] was wet."
    for i, (folder, end) in enumerate([("dpr/", "\n"), ("", "\r\n")]):
        data = tmp_path / str(i)
        data_files.write(data, f"{folder}test.c.txt", DPRD.replace("\n", end))
        assert readers.read_dprd(data, "test") == [
            Example(cup, "it", ("The cup", "the tray"), 1),
            Example(
                "Ann called Sue, but [MASK] was out.", "she", ("Ann", "Sue"), 1
            ),
        ]
    data_files.write(tmp_path, "winograd/PDP.txt", PDP)
    hidden = "Tom saw [MASK] dog and Bob. He ran."
    expected = [Example(hidden, "", ("Tom", "Bob", "the dog"), 0)]
    assert readers.read_pdp(tmp_path, "test") == expected
    data_files.write(tmp_path, "winograd/WSC273.txt", PDP)
    assert readers.read_wsc(tmp_path, "test") == expected
    assert not logged


# The clause of the definite pronoun, in brackets here, begins with a
# conjunction after both candidates are named.
DEFINITE = [
    ("Ann,Sue", "Ann hit Sue because [she] thought she was late."),
    ("Ann,Sue", "Before she left, Ann paid Sue as [she] had asked."),
    ("Ann,Sue", "Ann gave Sue the dress she found, since [she] had two."),
    ("Ann,Sue", "Ann met Sue. She sang and danced until [she] fell."),
    ("Ann,Sue", "Ann met Sue. [She] sang while dancing, she fell."),
    # A conjunction before the second candidate does not count.
    ("Ann,Sue", "Ann said that she saw Sue because [she] looked."),
    # A candidate that is not in the sentence says nothing.
    ("Eve,Sue", "She sang but [she] fell."),
    # Not in "shed"; the contraction stays.
    ("Ann,Sue", "Ann shed tears with Sue, [she]'s sad."),
]


def test_which_of_several_pronouns(tmp_path):
    for candidates, sentence in DEFINITE:
        right = candidates.split(",")[0]
        plain = sentence.replace("[", "").replace("]", "")
        block = f"{plain}\nshe\n{candidates}\n{right}\n\n"
        data_files.write(tmp_path, "train.c.txt", block + DPRD)
        found = readers.read_dprd(tmp_path, "train")[0]
        assert found.text == re.sub(r"\[\w+\]", "[MASK]", sentence)
        assert found.text_pair == re.search(r"\[(\w+)\]", sentence)[1]


def test_xml(tmp_path, logged):
    schemas = [SCHEMA.format(" was w\xe9t.\n", " B. ")]
    schemas += [SCHEMA.format(".", "A")] * 284
    path = data_files.write(
        tmp_path, "winograd/WSCollection.xml", collection(*schemas)
    )
    found = readers.read_wsc(tmp_path, "test")
    choices = ("The cup", "the tray")
    text = "The cup fell off the tray, so [MASK]"
    assert found[:2] == [
        Example(f"{text} was w\xe9t.", "It", choices, 1),
        Example(f"{text}.", "It", choices, 0),
    ]
    assert len(found) == 273
    assert not logged
    path.write_bytes(collection(schemas[0], SCHEMA.format(".", "C")))
    assert len(readers.read_wsc(tmp_path, "test")) == 1
    assert logged[-1].startswith(f"{path} schema 2: correctAnswer 'C' names")


@pytest.mark.needs_data
def test_real_files(shared_file, logged):
    data = shared_file("data/dpr/train.c.txt").parent.parent
    for read, split, count, right in (
        (readers.read_dprd, "train", 1_322, {0: 661, 1: 661}),
        (readers.read_dprd, "test", 564, {0: 282, 1: 282}),
        (readers.read_pdp, "test", 60, {0: 32, 1: 20, 2: 7, 3: 1}),
    ):
        if read is readers.read_pdp:
            shared_file("data/winograd/PDP.txt")
        found = read(data, split)
        assert len(found) == count
        assert collections.Counter(e.label for e in found) == right
        assert {e.text.count("[MASK]") for e in found} == {1}
    assert not logged
    # By hand: the only two sentences where another pronoun comes first.
    texts = [e.text for e in readers.read_dprd(data, "test")]
    assert sum("they found, since [MASK]" in text for text in texts) == 2


LAMBADA_FILE = "lambada_test_plain_text.txt"


@pytest.mark.parametrize("folder", ["lambada/", ""])
def test_last_word_is_the_choice(tmp_path, folder, logged):
    text = "it 's caf\xe9 time , tom\nalone\n\n`` no , ''  said  ann \n"
    path = data_files.write(tmp_path, f"{folder}{LAMBADA_FILE}", text)
    assert readers.read_lambada(tmp_path, "test") == [
        Example("it 's caf\xe9 time ,", choices=("tom",), label=0),
        Example("`` no , '' said", choices=("ann",), label=0),
    ]
    assert logged == [f"{path} line 2: a passage of one word; skipped"]
    with pytest.raises(errors.InputError, match="development.* not exist: put"):
        readers.read_lambada(tmp_path, "dev")
    rows = [{"text": "\u201cNo,\u201d\nsaid Ann"}, {"text": ""}]
    path = data_files.write(tmp_path / "json", "lambada_test.jsonl", rows)
    assert readers.read_lambada(tmp_path / "json", "test") == [
        Example("\u201cNo,\u201d said", choices=("Ann",), label=0)
    ]
    assert logged[1:] == [f"{path} line 2: text is empty; skipped"]
    for wrong, said in (
        ("`` no , '' said ann .", "the last word is '.'"),
        ('{"text": "said Ann"}', "JSON in a file whose name ends in .txt"),
    ):
        data_files.write(tmp_path, f"{folder}{LAMBADA_FILE}", 2 * f"{wrong}\n")
        with pytest.raises(errors.InputError, match=f"line 1: {said}"):
            readers.read_lambada(tmp_path, "test")


@pytest.mark.needs_data
def test_real_lambada_file(shared_file, logged):
    path = shared_file("data/lambada/lambada_development_plain_text.txt")
    found = readers.read_lambada(path.parent.parent, "dev")
    assert len(found) == 4_869 and not logged
    assert all(example.choices[0].isalpha() for example in found)
