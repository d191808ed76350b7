import pytest

from gpt1_keras.sample_world import draws
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import world


@pytest.mark.parametrize(
    "verb, tense, plural, right, wrong",
    [
        ("be", "past", False, "was", "were"),
        ("be", "past", True, "were", "was"),
        ("find", "past", False, "found", "find"),
        ("carry", "past", False, "carried", "carry"),
        ("have", "present", False, "has", "have"),
        ("find", "negated", False, "did not find", "did not found"),
    ],
)
def test_verbs(verb, tense, plural, right, wrong):
    assert sentences.conjugate(verb, tense, plural) == right
    assert sentences.conjugate(verb, tense, plural, True) == wrong


def test_finish():
    text = "a apple and a honest man. a hour, a use"
    expected = "An apple and an honest man. An hour, a use."
    assert sentences.finish(text) == expected


def test_a_pronoun_stands_for_one_person():
    people = world.build_world(0, 0).people
    she, other = [person for person in people if person.gender == "f"][:2]
    teller = sentences.Teller(draws.Draws("test"))
    clear, unclear = [], []
    for _ in range(50):
        teller.forget()
        teller.sentence("{a:first} <sleep>", {"a": she})
        clear.append(teller.sentence("{a} <wake>", {"a": she}))
        teller.forget()
        teller.sentence("{a:first} <see> {b:first}", {"a": she, "b": other})
        unclear.append(teller.sentence("{a} <wake>", {"a": she}))
    assert 25 < clear.count("She waked.") < 50
    assert "She waked." not in unclear


def test_alternatives_and_stray_brackets():
    teller = sentences.Teller(draws.Draws("test"))
    assert teller.clause("[one|two] day", {}) in ("one day", "two day")
    for template in ("a } b", "a ] b"):
        with pytest.raises(ValueError, match="stray"):
            sentences.parse(template)
