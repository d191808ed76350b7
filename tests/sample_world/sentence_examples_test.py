import re

from gpt1_keras.sample_world import sentence_examples
from gpt1_keras.sample_world import tables


def test_most_sentences_of_cola_are_whole(drawn):
    found = drawn(sentence_examples.cola, 200)
    assert 100 < sum(e.label == "1" for e in found) < 140
    for e in found:
        assert len(e.text.split()) <= sentence_examples.MOST_WORDS
    # Some faults show in two words.
    fault = re.compile(r"\b(were|did not \w+ed|the his|her the|he are)\b")
    marked = [e for e in found if fault.search(e.text)]
    assert sum(e.label == "0" for e in marked) > 0.8 * len(marked) > 4


def test_words_of_praise_and_blame_tell_the_label(drawn):
    found = drawn(sentence_examples.sst2, 200)
    assert 75 < sum(e.label == "1" for e in found) < 125
    right = 0
    for e in found:
        words = re.findall(r"\w+", e.text)
        good = sum(word in tables.words("good") for word in words)
        bad = sum(word in tables.words("bad") for word in words)
        right += (good > bad) == (e.label == "1")
    assert right > 130
