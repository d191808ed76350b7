import io
import json
import pickle
import tarfile

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.text import standardize
from gpt1_keras.text import tokenizer
from gpt1_keras.text import words
from tests.reference import released_tokenizer

PIECES = ["<unk>", "a", "b", "a</w>", "b</w>", ".</w>", "ab</w>", "\n</w>"]
PARTS = [
    *(" ", "  ", "\n", " \n\n ", "\t", "\r\n", "\r", "\u2028", "\xa0", "\x1c"),
    *("boys'", "'em...foo", "'cause...x", "he", "He'd", '"Oh', "!", "—", "“"),
    *("’", "it's", "Mr.", "U.S.", "3,000", "a-b", "&amp;", "<", "Ã©", "é", "…"),
]


def small():
    return tokenizer.Tokenizer(PIECES, [("a", "b</w>")])


@hypothesis.settings(max_examples=250)
@hypothesis.given(
    st.lists(
        st.lists(st.sampled_from(PARTS), max_size=16).map("".join)
        | st.text(max_size=20),
        min_size=1,
        max_size=4,
    )
)
@hypothesis.example(["boys' 'em...foo\nhe said", "he boys' 'em...foo"])
def test_same_words_with_and_without_cache(texts):
    caching, tight = (
        tokenizer.ChunkDictionary(lambda word: (word,)) for _ in range(2)
    )
    tight.limit = 3
    for text in texts:
        repaired = standardize.repair(text)
        expected = words.split_words(standardize.standardize(repaired))
        assert caching(text) == caching(text) == tight(text) == expected
        assert max(len(tight._chunks), len(tight._pieces)) <= 3


@pytest.mark.needs_data
def test_golden_ids_of_the_released_pipeline(released_files, golden_cases):
    ours = tokenizer.Tokenizer.from_files(*released_files)
    assert len(golden_cases) > 100
    for case in golden_cases:
        assert ours.encode(case["text"]) == case["ids"], case["text"]


@pytest.mark.needs_data
@pytest.mark.slow
def test_a_megabyte_of_novels_as_by_the_released_rules(
    released_files, shared_file
):
    released = released_tokenizer.ReleasedTokenizer(*released_files)
    ours = tokenizer.Tokenizer.from_files(*released_files)
    num_characters = 0
    with tarfile.open(shared_file("data/books/books.tar.xz")) as archive:
        for member in archive:
            if member.isfile() and num_characters < 1_000_000:
                file = io.TextIOWrapper(archive.extractfile(member), "utf-8")
                text = file.read(160_000)[30_000:]
                num_characters += len(text)
                ids = released.encode(text)
                assert ours.encode(text) == ids
                assert ours.encode(text) == ids  # now from the cache
    assert num_characters >= 1_000_000


def test_encode_and_decode():
    ours = small()
    assert ours.encode("Ab, ab.\n\nB") == [6, 0, 6, 5, 7, 4]
    assert ours.encode_batch(["ab", "", "b a"]) == [[6], [], [4, 3]]
    assert ours.decode([6, 6, 5, 7, 4]) == "ab ab.\nb"
    assert (ours.start_id, ours.delimiter_id, ours.extract_id) == (8, 9, 10)
    assert ours.decode(np.array([8, 6, 9, 10])) == "ab"
    assert tokenizer.Tokenizer(PIECES[:-1], []).newline_id is None
    with pytest.raises(ValueError, match="-1"):
        ours.decode([-1])


def test_saved_read_and_pickled(tmp_path):
    word_pieces = tokenizer.Tokenizer(["[UNK]", "[NEWLINE]", "a", "##b"])
    for ours in (small(), word_pieces):
        folder = tmp_path / ours.type
        ours.save(folder)
        ids = ours.encode("ab a\nab")
        for copy in (
            tokenizer.Tokenizer.from_directory(folder),
            pickle.loads(pickle.dumps(ours)),
        ):
            assert copy.sha256 == ours.sha256
            assert copy.encode("ab a\nab") == ids
    # The hash is that of the content.
    ids = dict(zip(PIECES, range(8)))
    (tmp_path / "v.json").write_text(json.dumps(ids, indent=1))
    (tmp_path / "m").write_text("#version: 0.1\na b</w>")
    read = tokenizer.Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m")
    assert read.sha256 == small().sha256
    others = [
        tokenizer.Tokenizer(PIECES, []),
        tokenizer.Tokenizer(PIECES[:-1], [("a", "b</w>")]),
        tokenizer.Tokenizer(PIECES),
    ]
    assert len({small().sha256, *(other.sha256 for other in others)}) == 4
    with pytest.raises(errors.InputError, match="needs its merges file"):
        tokenizer.Tokenizer.from_files(tmp_path / "v.json")
    with pytest.raises(errors.InputError, match="no vocabulary.json or"):
        tokenizer.Tokenizer.from_directory(tmp_path)


def test_merges_in_another_order_cause_a_warning(tmp_path, caplog):
    pieces = ["<unk>", *"abc", "ab", "bc", "abc"]
    merges = [("a", "b"), ("b", "c"), ("ab", "c")]
    tokenizer.Tokenizer(pieces, merges).save(tmp_path)
    tokenizer.Tokenizer.from_directory(tmp_path)
    assert not caplog.messages
    tokenizer.Tokenizer(pieces, merges[::-1]).save(tmp_path)
    tokenizer.Tokenizer.from_directory(tmp_path)
    (warning,) = caplog.messages
    assert "merges.txt: 2 merges come before one of an earlier" in warning
