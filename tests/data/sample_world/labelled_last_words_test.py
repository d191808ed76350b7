import re

from gpt1_keras.data.sample_world import labelled_last_words


def test_the_last_word_has_been_told(drawn):
    found = drawn(labelled_last_words.last_word, 200)
    for e in found:
        (word,) = e.choices
        assert e.label == 0 and word.isalpha() and len(word) > 4, e
        assert re.search(rf"\b{word}\b", e.text), e
        # Four sentences and the beginning of a fifth.
        assert len(re.findall(r"[.!?] ", e.text)) == 4, e
    # Neither one word for all, nor always the one told last.
    words = [e.choices[0] for e in found]
    assert len(set(words)) > 100
    last_told = [re.findall(r"\w+", e.text)[-1] == e.choices[0] for e in found]
    assert sum(last_told) < 20
