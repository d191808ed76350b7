import pytest

from gpt1_keras.data.sample_world import grammar


@pytest.mark.parametrize(
    "verb, past, participle, gerund, third",
    [
        ("mend", "mended", "mended", "mending", "mends"),
        ("carry", "carried", "carried", "carrying", "carries"),
        ("play", "played", "played", "playing", "plays"),
        ("beg", "begged", "begged", "begging", "begs"),
        ("quarrel", "quarrelled", "quarrelled", "quarrelling", "quarrels"),
        ("lose", "lost", "lost", "losing", "loses"),
        ("go", "went", "gone", "going", "goes"),
        ("write", "wrote", "written", "writing", "writes"),
        ("lie", "lay", "lain", "lying", "lies"),
        ("teach", "taught", "taught", "teaching", "teaches"),
        ("have", "had", "had", "having", "has"),
        ("repay", "repaid", "repaid", "repaying", "repays"),
        ("flee", "fled", "fled", "fleeing", "flees"),
    ],
)
def test_verb_forms(verb, past, participle, gerund, third):
    assert grammar.past(verb) == past
    assert grammar.participle(verb) == participle
    assert grammar.gerund(verb) == gerund
    assert grammar.third_person(verb) == third


@pytest.mark.parametrize(
    "verb, tense, person, second, expected",
    [
        ("be", "past", "you", False, "were"),
        ("be", "past", "I", False, "was"),
        ("be", "present", "I", False, "am"),
        ("be", "negated", "they", False, "were not"),
        ("be", "perfect", "it", False, "has been"),
        ("take", "pluperfect", "it", False, "had taken"),
        ("take", "pluperfect", "it", True, "taken"),
        ("take", "perfect", "they", False, "have taken"),
        ("take", "present", "it", True, "takes"),
        ("take", "future", "I", False, "will take"),
        ("take", "conditional", "I", True, "take"),
        ("take", "negated", "it", False, "did not take"),
        ("take", "base", "it", False, "take"),
        ("take", "gerund", "it", False, "taking"),
    ],
)
def test_conjugate(verb, tense, person, second, expected):
    assert grammar.conjugate(verb, tense, person, second) == expected


def test_unknown_tense_is_refused():
    with pytest.raises(ValueError, match="aorist"):
        grammar.conjugate("go", "aorist")


@pytest.mark.parametrize(
    "word, article",
    [
        ("apple", "an"), ("hour", "an"), ("honest", "an"), ("house", "a"),
        ("unhappy", "an"), ("useful", "a"), ("uniform", "a"), ("one", "a"),
        ("only", "an"), ("ewe", "an"), ("Orchard", "an"), ("ugly", "an"),
    ],
)  # fmt: skip
def test_indefinite(word, article):
    assert grammar.indefinite(word) == article


@pytest.mark.parametrize(
    "noun, many",
    [
        ("lily", "lilies"), ("finch", "finches"), ("fox", "foxes"),
        ("mouse", "mice"), ("walnut tree", "walnut trees"), ("jay", "jays"),
        ("pair of boots", "pairs of boots"), ("goose", "geese"),
    ],
)  # fmt: skip
def test_plural(noun, many):
    assert grammar.plural(noun) == many


def test_finish_sets_articles_spaces_and_capitals():
    text = "a  old man had a apple. he ate it."
    assert grammar.finish(text) == "An old man had an apple. He ate it."
    assert grammar.finish('"a hour," said Tam.') == '"An hour," said Tam.'


def test_title():
    assert grammar.title("the end of a apple") == "The End of an Apple"


@pytest.mark.parametrize(
    "number, expected",
    [
        (1, "I"),
        (4, "IV"),
        (9, "IX"),
        (14, "XIV"),
        (40, "XL"),
        (99, "XCIX"),
        (148, "CXLVIII"),
    ],
)
def test_roman(number, expected):
    assert grammar.roman(number) == expected
