import pytest

from gpt1_keras.data.sample_world import labelled_pronouns

# By the sense of the words: which of the two "he" or "she" is.
JUDGED = {
    ("thanked", "had mended"): 1,
    ("thanked", "had brought back"): 1,
    ("apologised to", "had been unjust"): 0,
    ("for mercy", "had stolen"): 0,
    ("feared", "had broken"): 0,
    ("took in", "had nowhere to sleep"): 1,
    ("lent", "was in need"): 1,
    ("asked", "could not mend"): 0,
    ("praised", "had learned so much"): 1,
    ("scolded", "had been careless"): 1,
}


def meant(sentence):
    return next(
        (
            index
            for (first, second), index in JUDGED.items()
            if f" {first} " in sentence and second in sentence
        ),
        None,
    )


def test_the_pronoun_is_the_one_that_sense_asks_for(drawn):
    found = drawn(labelled_pronouns.dpr, 400)
    judged = set()
    for e in found:
        index = meant(e.text)
        if index is not None:
            assert e.label == index, e
            judged.add(index)
        assert e.text.index(e.choices[0]) < e.text.index(e.choices[1])
        assert e.text_pair in ("he", "she")
    assert judged == {0, 1}
    assert 0.4 < sum(e.label for e in found) / 400 < 0.6


@pytest.mark.parametrize("label", "01")
def test_wnli_says_the_clause_of_the_right_or_the_wrong_one(drawn, label):
    judged = 0
    for e in drawn(labelled_pronouns.wnli, 400):
        index = meant(e.text)
        if e.label != label or index is None:
            continue
        head, _, clause = e.text.rpartition("because ")
        name = e.text_pair.removesuffix(clause.split(" ", 1)[1]).strip()
        name = name.replace("The ", "the ")
        head = head.replace("The ", "the ")
        first = head.startswith(name)
        assert name in head, e
        assert (first == (index == 0)) == (label == "1"), e
        judged += 1
    assert judged > 20
