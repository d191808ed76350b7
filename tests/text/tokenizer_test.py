import io
import json
import pickle
import tarfile

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.text import tokenizer
from gpt1_keras.text import train_vocabulary
from tests.reference import released_tokenizer

VOCABULARY = "data/gpt1_vocab/encoder_bpe_40000.json"
MERGES = "data/gpt1_vocab/vocab_40000.bpe"
PIECES = ["<unk>", "a", "b", "a</w>", "b</w>", ".</w>", "ab</w>", "\n</w>"]


@pytest.fixture
def released_files(shared_file):
    return shared_file(VOCABULARY), shared_file(MERGES)


def small(**arguments):
    return tokenizer.Tokenizer(PIECES, [("a", "b</w>")], **arguments)


def novels(path, characters):
    """Yield pieces of novels, with their hard-wrapped lines."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and characters > 0:
                file = io.TextIOWrapper(archive.extractfile(member), "utf-8")
                text = file.read(160_000)[30_000:]
                characters -= len(text)
                yield text
            elif characters <= 0:
                return


@pytest.mark.needs_data
@pytest.mark.parametrize("limit", [tokenizer.DICTIONARY_LIMIT, 0, 50])
def test_golden_ids_of_the_released_pipeline(
    released_files, shared_file, limit
):
    path = shared_file("golden/tokenizer_openai_a.json")
    cases = json.loads(path.read_text("utf-8"))
    ours = tokenizer.Tokenizer.from_files(
        *released_files, dictionary_limit=limit
    )
    assert len(cases) > 100
    for case in cases:
        assert ours.encode(case["text"]) == case["ids"], case["text"]


@pytest.mark.needs_data
@pytest.mark.slow
def test_a_megabyte_of_novels_as_by_the_released_rules(
    released_files, shared_file
):
    released = released_tokenizer.ReleasedTokenizer(*released_files)
    ours = tokenizer.Tokenizer.from_files(*released_files)
    plain = tokenizer.Tokenizer.from_files(*released_files, dictionary_limit=0)
    num_characters = 0
    for text in novels(shared_file("data/books/books.tar.xz"), 1_000_000):
        ids = released.encode(text)
        assert ours.encode(text) == ids
        assert ours.encode(text) == ids  # now from the dictionary
        assert plain.encode(text) == ids
        num_characters += len(text)
    assert num_characters >= 1_000_000


@pytest.mark.needs_data
def test_released_vocabulary(released_files):
    released = tokenizer.Tokenizer.from_files(*released_files)
    assert released.type == "bpe"
    assert released.vocabulary_size == 40478
    assert released.newline_id == 40477
    assert released.start_id == 40478
    assert released.delimiter_id == 40479
    assert released.extract_id == 40480
    assert released.encode("the president is") == [481, 4735, 544]
    # The greedy continuation in transformers' test of the released weights.
    ids = [481, 4735, 544, 246, 963, 870, 762, 239, 244, 40477]
    ids += [244, 249, 719, 881, 487, 544, 240, 244, 603, 481]
    assert released.decode(ids) == (
        'the president is a very good man."\n"i\'m sure he is," said the'
    )


def test_encode_and_decode():
    ours = small()
    assert ours.encode("Ab, ab.\n\nB") == [6, 0, 6, 5, 7, 4]
    assert ours.decode([6, 6, 5, 7, 4]) == "ab ab.\nb"
    assert ours.encode_batch(["ab", "", "b a"]) == [[6], [], [4, 3]]


def test_decode_drops_special_tokens_and_takes_arrays():
    ours = small()
    ids = np.array([ours.start_id, 6, ours.delimiter_id, 5, ours.extract_id])
    assert ours.decode(ids) == "ab."
    with pytest.raises(ValueError, match="negative"):
        ours.decode([-1])


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_pieces_join_to_the_words(kind):
    train = {
        "bpe": train_vocabulary.train_bpe,
        "wordpiece": train_vocabulary.train_wordpiece,
    }
    text = "the captain walked to the harbour\nand the captain sang"
    ours = train[kind]([text] * 3, vocabulary_size=45)
    pieces = [ours.piece(index) for index in ours.encode(text)]
    assert len(pieces) > len(text.split())
    expected = text.replace("\n", " \u23ce ")
    assert (
        " ".join("".join(pieces).replace("\u23ce", " \u23ce ").split())
        == expected
    )
    special = (ours.start_id, ours.delimiter_id, ours.extract_id)
    assert [ours.piece(index) for index in special] == [
        *("[start]", "[delimiter]"),
        "[extract]",
    ]


def test_special_ids_follow_the_vocabulary():
    ours = small()
    assert (ours.start_id, ours.delimiter_id, ours.extract_id) == (8, 9, 10)
    assert ours.newline_id == 7
    assert tokenizer.Tokenizer(PIECES[:-1], []).newline_id is None


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_saved_and_read_again(tmp_path, kind):
    ours = small()
    if kind == "wordpiece":
        ours = tokenizer.Tokenizer(["[UNK]", "[NEWLINE]", "a", "##b"])
    ours.save(tmp_path / "saved")
    read = tokenizer.Tokenizer.from_directory(tmp_path / "saved")
    assert read.type == ours.type == kind
    assert read.vocabulary == ours.vocabulary
    assert read.merges == ours.merges
    assert read.sha256 == ours.sha256
    assert read.encode("ab a\nab") == ours.encode("ab a\nab")


def test_sha256_is_that_of_the_content(tmp_path):
    (tmp_path / "v").write_text(
        json.dumps(dict(zip(PIECES, range(8))), indent=1)
    )
    (tmp_path / "m").write_text("another header\na b</w>")
    read = tokenizer.Tokenizer.from_files(tmp_path / "v", tmp_path / "m")
    assert read.sha256 == small().sha256
    others = [
        tokenizer.Tokenizer(PIECES, []),
        tokenizer.Tokenizer(PIECES[:-1], [("a", "b</w>")]),
        tokenizer.Tokenizer(PIECES),
    ]
    assert len({small().sha256, *(other.sha256 for other in others)}) == 4


def test_pickles():
    ours = small(dictionary_limit=5)
    ours.encode("ab a b")
    copy = pickle.loads(pickle.dumps(ours))
    assert copy.encode("ab a b") == [6, 3, 4]
    assert copy.sha256 == ours.sha256


def test_mistakes_are_one_line(tmp_path):
    (tmp_path / "v.json").write_text("{}")
    with pytest.raises(errors.InputError, match="needs its file of merges"):
        tokenizer.Tokenizer.from_files(tmp_path / "v.json")
    with pytest.raises(errors.InputError, match="no vocabulary.json or"):
        tokenizer.Tokenizer.from_directory(tmp_path)
