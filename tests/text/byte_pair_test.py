import collections
import itertools
import pickle

from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import byte_pair
from tests.reference import released_tokenizer

MERGES = [("a", "b"), ("ab", "c</w>"), ("b", "c"), ("a", "b</w>")]
CHARACTERS = ["<unk>", *"abc", *(c + "</w>" for c in "abc")]
words = st.lists(st.text("abc", min_size=1, max_size=12), min_size=1)


def ids_of(merges, *, without=()):
    pieces = CHARACTERS + [left + right for left, right in merges]
    pieces = [piece for piece in pieces if piece not in without]
    return {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}


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


@settings(max_examples=300)
@given(corpus=words, count=st.integers(0, 12), texts=words)
@example(["aaaa", "aaa"], 3, ["aaaaa", "aaaa", "aaaaaaa"])
@example(["abcabc"], 9, ["abcabc", "cabcab", "xabcy"])
def test_learned_merges_apply_as_in_the_released_code(corpus, count, texts):
    """Also to pieces that the vocabulary lacks: they are unknown."""
    merges = learned(corpus, count)
    released = released_tokenizer.ReleasedTokenizer.of_merges(merges)
    ids = ids_of(merges, without={"ab", "c</w>"})
    model = byte_pair.BytePair(ids, merges)
    for word in texts:
        expected = tuple(ids.get(p, 0) for p in released.pieces(word))
        assert model.encode_word(word) == expected


def test_encode_word():
    ids = ids_of(MERGES)
    model = byte_pair.BytePair(ids, MERGES)
    for word, pieces in {
        "abc": ["abc</w>"],
        "ab": ["ab</w>"],
        "abab": ["ab", "ab</w>"],
        "a": ["a</w>"],
        "axb": ["a", "<unk>", "b</w>"],
        "\n": ["<unk>"],
    }.items():
        expected = tuple(ids[piece] for piece in pieces)
        assert model.encode_word(word) == expected
        assert pickle.loads(pickle.dumps(model)).encode_word(word) == expected
    # An unknown piece is 0, even where <unk> is not in the vocabulary.
    other = byte_pair.BytePair({"a": 3, "b</w>": 5}, [])
    assert other.encode_word("axb") == (3, 0, 5)


def test_join():
    join = byte_pair.BytePair({}, []).join
    assert join(["ab", "c</w>", "\n</w>", "d"]) == ["abc", "\n", "d"]
    assert join(["a</w>"]) == ["a"] and join([]) == []
