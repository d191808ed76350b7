import pytest

from gpt1_keras.text import words


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The president", ["the", "president"]),
        ("I'm sure he isn't .", ["i", "'m", "sure", "he", "is", "n't", "."]),
        ("one \n two", ["one", "\n", "two"]),
        ("", []),
        ("Mr. Smith", ["mr.", "smith"]),
    ],
)
def test_split_words(text, expected):
    assert words.split_words(text) == expected


def test_lower_case_comes_after_spacy():
    # "Ill." is an abbreviation of a state to spaCy, "ill." is not.
    assert words.split_words("Ill.") == ["ill."]
    assert words.split_words("ill.") == ["ill", "."]


def test_each_word_is_lowered_alone():
    # A sigma at the end of a word has a form of its own.
    assert words.split_words("ΟΔΟΣ ΟΔΟΣ") == ["οδος", "οδος"]
