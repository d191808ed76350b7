from gpt1_keras.text import detokenize
from gpt1_keras.text import standardize
from gpt1_keras.text import words

TEXTS = [
    'he said, "i can\'t!" and left.',
    '"well," said she, "it\'s john\'s."',
    "they'd gone; hadn't they? i'm sure we've won: you'll see...",
    "a state-of-the-art so-called thing--and more.",
    "in (or near) [the] house, and/or garden",
    "it cost $3.50, or 10% of 3,000,000, he says",
    "one\ntwo\nthree",
    'first "one\nand "then" two',
    "'so it is,' said the boys' father",
    "the dogs' tails",
    "it was _very_ good",
    "gonna, gotta and cannot",
    '"one," he said.\n"two," she said.',
    'leave me!" and he went.',
    'and so it ends."',
    "mr. smith lives at no. 5, in the u.s.",
    "",
    "-a dash first",
]


def test_spaces_are_undone():
    for text in TEXTS:
        split = words.split_words(standardize.standardize(text))
        assert detokenize.join_words(split) == text
    assert detokenize.join_words(["the", "old", "man"]) == "the old man"
