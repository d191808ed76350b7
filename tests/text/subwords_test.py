import collections
import itertools
import json

import hypothesis
from hypothesis import strategies as st

from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer
from tests.reference import released_tokenizer

CHARACTERS = ["<unk>", *"abc", *(c + "</w>" for c in "abc")]
words = st.lists(st.text("abc", min_size=1, max_size=12), min_size=1)


def learned(corpus, count):
    """The most frequent pair of all words, again and again."""
    split = [[*word[:-1], word[-1] + "</w>"] for word in corpus]
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for symbols in split:
            pairs.update(itertools.pairwise(symbols))
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        split = [released_tokenizer.joined(s, best) for s in split]
    return merges


@hypothesis.settings(max_examples=300)
@hypothesis.given(corpus=words, count=st.integers(0, 12), texts=words)
@hypothesis.example(["aaaa", "aaa"], 3, ["aaaaa", "aaaa", "aaaaaaa"])
@hypothesis.example(["abcabc"], 9, ["abcabc", "cabcab", "xabcy", "\n"])
def test_learned_merges_apply_as_in_the_released_code(corpus, count, texts):
    """Also to pieces that the vocabulary lacks: they are unknown."""
    merges = learned(corpus, count)
    released = released_tokenizer.ReleasedTokenizer.of_merges(merges)
    pieces = dict.fromkeys(CHARACTERS + [a + b for a, b in merges])
    pieces = [piece for piece in pieces if piece not in {"ab", "c</w>"}]
    ids = {piece: index for index, piece in enumerate(pieces)}
    model = subwords.BytePair(ids, merges)
    for word in texts:
        expected = tuple(ids.get(p, 0) for p in released.pieces(word))
        assert model.encode_word(word) == expected


def test_byte_pairs_look_up_and_join():
    """Unknown pieces are 0, even where that is another."""
    model = subwords.BytePair({"a": 3, "b</w>": 5}, [])
    assert model.encode_word("axb") == (3, 0, 5)
    found = model.join(["ab", "c</w>", "\n</w>", "d"])
    assert found == ["abc", "\n", "d"]
    assert model.join(["a</w>"]) == ["a"] and model.join([]) == []


PIECES = ["[UNK]", "[NEWLINE]", "a", "b", "##a", "##b", "ab", "##ab", "##bab"]


def test_word_pieces_encode_and_join():
    model = subwords.WordPiece({piece: i for i, piece in enumerate(PIECES)})
    for word, expected in (
        ("abab", ("ab", "##ab")),
        ("abbab", ("ab", "##bab")),
        ("abc", ("[UNK]",)),
        ("\n", ("[NEWLINE]",)),
        ("a" * 100, ("a", *["##a"] * 99)),
        ("a" * 101, ("[UNK]",)),
    ):
        ids = model.encode_word(word)
        assert tuple(PIECES[index] for index in ids) == expected
    other = subwords.WordPiece({"[UNK]": 0, "a": 1})
    assert other.encode_word("\n") == other.encode_word("b") == (0,)
    assert model.join(["ab", "##ab", "[NEWLINE]", "b"]) == ["abab", "\n", "b"]
    assert model.join(["##ab", "##"]) == ["##ab", "##"]


def test_byte_pairs_are_written_as_released(tmp_path):
    pieces = ["<unk>", "a", "é</w>", "aé</w>", "\n</w>"]
    tokenizer.Tokenizer(pieces, [("a", "é</w>")]).save(tmp_path / "new")
    # A header, one pair a line, an empty last line.
    written = (tmp_path / "new" / "merges.txt").read_text("utf-8")
    assert written == "#version: 0.2\na é</w>\n"
    text = (tmp_path / "new" / "vocabulary.json").read_text("utf-8")
    assert json.loads(text) == {piece: i for i, piece in enumerate(pieces)}


def test_version_is_a_header_in_the_first_line_only(tmp_path):
    word, last = "#version", "s</w>"
    merges = [(word, last)] + [(word[:i], word[i]) for i in range(1, 8)]
    pieces = ["<unk>", *word, last, *map("".join, merges)]
    tokenizer.Tokenizer(pieces, merges).save(tmp_path)
    read = tokenizer.Tokenizer.from_directory(tmp_path)
    assert (read.merges, read.vocabulary) == (merges, pieces)
    path = tmp_path / "pieces.txt"
    path.write_text("a b\n#version s</w>\n")
    assert subwords.read_merges(path) == [("a", "b"), (word, last)]
    path.write_bytes("[UNK]\r\n#version\r\n##é\r\n".encode())  # as on Windows
    assert subwords.read_word_pieces(path) == ["[UNK]", word, "##é"]
    # A text may begin like a file.
    words = tokenizer.Tokenizer(["[UNK]", "#", "version", ":"])
    assert words.encode("#version: 2") == [1, 2, 3, 0]
