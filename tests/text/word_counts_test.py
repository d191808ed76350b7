import collections

from gpt1_keras.text import train_vocabulary


def test_counts_words_of_all_texts():
    counts = train_vocabulary.count_words(
        ["The man,\nthe dog.", "It's the man"]
    )
    assert counts == collections.Counter(
        {
            "the": 3,
            "man": 2,
            ",": 1,
            "\n": 1,
            "dog": 1,
            ".": 1,
            "it": 1,
            "'s": 1,
        }
    )


def test_a_counter_forgets_counts_but_not_words():
    counter = train_vocabulary.WordCounter()
    assert counter.count(["a a"]) == {"a": 2}
    assert counter.count(iter(["a b"])) == {"a": 1, "b": 1}
