import json

import pytest
import tokenizers
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import byte_pair
from tests.reference import released_tokenizer

MERGES = [("a", "b"), ("ab", "c</w>"), ("b", "c"), ("a", "b</w>")]
symbol = st.sampled_from(
    ["a", "b", "c", "aa", "ab", "ba", "bc", "abc", "a</w>", "b</w>", "ab</w>"]
)


def reference(merges, folder):
    pieces = ["<unk>", *"abc", *(c + "</w>" for c in "abc")]
    pieces += [left + right for left, right in merges]
    ids = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    (folder / "v.json").write_text(json.dumps(ids))
    lines = ["#version: 0.2", *map(" ".join, merges), ""]
    (folder / "m.txt").write_text("\n".join(lines))
    return ids, released_tokenizer.ReleasedTokenizer(
        folder / "v.json", folder / "m.txt"
    )


@settings(max_examples=400)
@given(
    st.lists(st.tuples(symbol, symbol), max_size=12, unique=True),
    st.lists(st.text("abc", min_size=1, max_size=12), min_size=1),
)
@example([("a", "bc"), ("abc", "a"), ("b", "c")][::-1], ["abcabc"])
@example([("a", "a"), ("aa", "a</w>")], ["aaaaa", "aaaa"])
def test_any_list_of_merges_as_in_the_released_rules(
    tmp_path_factory, merges, words
):
    ids, released = reference(merges, tmp_path_factory.mktemp("bpe"))
    model = byte_pair.BytePair(ids, merges)
    for word in words:
        assert model.split(word) == released.pieces(word)
        assert list(model.encode_word(word)) == [
            ids.get(piece, 0) for piece in released.pieces(word)
        ]


@given(st.text("abcd", min_size=1, max_size=12))
def test_as_hugging_face(word):
    pieces = ["<unk>", *"abc", *(c + "</w>" for c in "abc")]
    pieces += [left + right for left, right in MERGES]
    ids = {piece: index for index, piece in enumerate(pieces)}
    theirs = tokenizers.models.BPE(
        ids, MERGES, unk_token="<unk>", end_of_word_suffix="</w>"
    )
    expected = tuple(token.id for token in theirs.tokenize(word))
    assert byte_pair.BytePair(ids, MERGES).encode_word(word) == expected


@pytest.mark.parametrize(
    "word, expected",
    [
        ("abc", ["abc</w>"]),
        ("ab", ["ab</w>"]),
        ("abab", ["ab", "ab</w>"]),
        ("a", ["a</w>"]),
        ("\n", ["\n</w>"]),
    ],
)
def test_split(word, expected):
    assert byte_pair.BytePair({}, MERGES).split(word) == expected


def test_unknown_pieces_are_zero():
    model = byte_pair.BytePair({"a": 3, "b</w>": 5}, [])
    assert model.encode_word("axb") == (3, 0, 5)


def test_join():
    join = byte_pair.BytePair({}, []).join
    assert join(["ab", "c</w>", "\n</w>", "d"]) == ["abc", "\n", "d"]
