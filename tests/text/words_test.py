import string

import hypothesis
import spacy
from hypothesis import strategies as st

from gpt1_keras.text import standardize
from gpt1_keras.text import words

ENGLISH = spacy.blank("en").tokenizer
PARTS = [
    *("'", ".", "...", ":", "'s", "'S", "'em", "-", "@", "$", "%", "<"),
    *("3", "10", "km", "he", "it", "Mr", "St", "foo", "BAR", "I", "goin"),
    *("n't", "can't", "cannot", "won't", "a.m.", "U.S", "o.O", ":o", "=D"),
    *("www.", ".com", "é", "=", "\\", "&", "°", "€", "日"),
]
pieces = st.lists(
    st.sampled_from([*PARTS, "http://", "’", "''"]), min_size=1, max_size=6
).map("".join)
special = st.sampled_from(
    sorted(rule for rule in ENGLISH.rules if len(rule.split()) == 1)
)
plain = st.from_regex(r"'?[A-Za-z]{1,9}('s|'|:|\.)?", fullmatch=True)


def by_spacy(text):
    return [token.text.lower() for token in ENGLISH(text)]


@hypothesis.settings(max_examples=200)
@hypothesis.given(st.lists(pieces | special | plain, min_size=2, max_size=8))
@hypothesis.example(["'St.", "'Ill."])
def test_pieces_are_split_as_by_spacy(given_pieces):
    found, dependent = words.split_pieces(dict.fromkeys(given_pieces))
    assert dependent <= set(given_pieces)
    for piece in given_pieces:
        assert found[piece] == by_spacy(piece)
    if not dependent:  # then the neighbours do not matter
        together = by_spacy(" ".join(given_pieces))
        assert together == [word for p in given_pieces for word in found[p]]


def test_a_piece_that_depends_on_its_neighbours_is_named():
    piece = "'em...foo"
    assert by_spacy(piece) == ["'em", "...", "foo"]
    beside = by_spacy("boys' " + piece)
    assert beside == ["boys", "'", "'", "em", "...", "foo"]
    found, dependent = words.split_pieces([piece, "boys'", "foo"])
    assert dependent == {piece} and found["boys'"] == ["boys", "'"]
    assert words.split_pieces([]) == ({}, set())
    for run in (300 * mark for mark in [*string.punctuation, *"😂♥❤🌹"]):
        assert words.split_pieces([run])[0][run] == by_spacy(run)
    # For this, spaCy would need minutes.
    assert len(words.split_pieces(["😂❤😭" * 7_000])[0].popitem()[1]) == 21_000
    long = "a" + "#" * 20_000 + "_" * 256
    found, dependent = words.split_pieces([long, "_" * 256])
    assert "".join(found[long]) == long and not dependent
    assert found[long][1:20_000] == ["#"] * 19_999
    assert found["_" * 256] == found[long][-len(found["_" * 256]) :]


def test_split_words():
    for text, expected in (
        # To spaCy "Ill." is a state, "ill." is not: lower case comes after.
        ("Ill.", "ill."),
        ("ill.", "ill ."),
        # A sigma at the end of a word has a form of its own.
        ("ΟΔΟΣ ΟΔΟΣ", "οδος οδος"),
    ):
        assert words.split_words(text) == expected.split()
    assert words.split_words("one \n two") == ["one", "\n", "two"]
    assert words.split_words("") == []


JOINED = [
    'he said, "i can\'t!" and left.',
    '"well," said she, "it\'s john\'s."',
    "they'd gone; hadn't they? i'm sure we've won: you'll see...",
    "a state-of-the-art so-called thing--and more.",
    "in (or near) [the] house, and/or garden",
    "it cost $3.50, £4 or €5, 10% of 3,000,000, he says",
    "in 1939, 1945 and later",
    "one\ntwo\nthree",
    'first "one\nand "then" two',
    "'so it is,' said the boys' father",
    "the dogs' tails",
    "it was _very_ good",
    "gonna, gotta and cannot",
    '"one," he said.\n"two," she said.',
    '"no," he said. "and yet',
    'leave me!" and he went.',
    'and so it ends."',
    'a very good man."\n"i\'m sure he is," said the',
    "mr. smith lives at no. 5, in the u.s.",
    "",
    "-a dash first",
]


def test_spaces_are_undone():
    for text in JOINED:
        split = words.split_words(standardize.standardize(text))
        assert words.join_words(split) == text
