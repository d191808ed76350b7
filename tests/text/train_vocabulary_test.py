import collections
from unittest import mock

import pytest
import tokenizers
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.text import standardize
from gpt1_keras.text import tokenizer
from gpt1_keras.text import train_vocabulary
from gpt1_keras.text import words

TEXTS = [
    "The lowest of the low, and the newest; isn't it?\n",
    "He said: “Newer is wider than the widest, lower than the lowest.”",
    "the old man and the sea - naïve café; the low low lowering\nwidest",
] * 3


def split(text):
    return words.split_words(standardize.standardize(standardize.repair(text)))


def test_bpe_has_the_released_layout():
    ours = train_vocabulary.train_bpe(TEXTS, vocabulary_size=130)
    entries = ours.vocabulary
    found = [word for text in TEXTS for word in split(text)]
    characters = sorted({c for word in found for c in word} - {"\n"})
    n = len(characters)
    assert entries[: n + 1] == ["<unk>", *characters]
    assert entries[n + 1 : 2 * n + 1] == [c + "</w>" for c in characters]
    assert entries[2 * n + 1 : -1] == [a + b for a, b in ours.merges]
    assert entries[-1] == "\n</w>"
    assert ours.newline_id == ours.vocabulary_size - 1 <= 129
    assert all(word + "</w>" in entries for word in found if word != "\n")
    # A pair that occurs once is not merged.
    counts = collections.Counter(ab=1999, cd=2000, ef=1, gh=2)
    merges = [("c", "d</w>"), ("a", "b</w>"), ("g", "h</w>")]
    for size, count in ((100, 3), (20, 2)):
        ours = train_vocabulary.train_bpe(counts, vocabulary_size=size)
        assert ours.merges == merges[:count]


@pytest.mark.parametrize("kind", train_vocabulary.TRAINERS)
def test_read_again_encodes_as_hugging_face(tmp_path, kind):
    train_vocabulary.TRAINERS[kind](TEXTS, vocabulary_size=120).save(tmp_path)
    ours = tokenizer.Tokenizer.from_directory(tmp_path)
    assert ours.type == kind and 60 < ours.vocabulary_size <= 120
    if kind == "bpe":
        theirs = tokenizers.models.BPE.from_file(
            str(tmp_path / "vocabulary.json"),
            str(tmp_path / "merges.txt"),
            unk_token="<unk>",
            end_of_word_suffix="</w>",
        )
    else:
        assert ours.vocabulary[:2] == ["[UNK]", "[NEWLINE]"]
        theirs = tokenizers.models.WordPiece.from_file(
            str(tmp_path / "vocabulary.txt"), unk_token="[UNK]"
        )
    for text in [*TEXTS, "the fewest words, unknown zebras, 5 & ñ"]:
        expected = []
        for word in split(text):
            if word == "\n":
                expected.append(ours.newline_id)
            else:
                expected += [token.id for token in theirs.tokenize(word)]
        assert ours.encode(text) == expected
    text = "the lowest man isn't old.\nwidest café"
    assert ours.decode(ours.encode(text)) == text


@settings(max_examples=40)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=4))
def test_what_is_learned_from_any_text_is_read_back(tmp_path_factory, texts):
    """No piece breaks the lines of a vocabulary's files."""
    folder = tmp_path_factory.mktemp("learned")
    for kind, train in train_vocabulary.TRAINERS.items():
        try:
            ours = train(texts * 3, vocabulary_size=200)
        except errors.InputError:
            continue  # no words
        ours.save(folder / kind)
        read = tokenizer.Tokenizer.from_directory(folder / kind)
        assert read.sha256 == ours.sha256


def test_many_words_with_rare_characters_are_warned_of():
    text = " ".join(["low", *map(chr, range(0x4EFF, 0x4DD3, -1))])
    with mock.patch.object(train_vocabulary.logging, "warning") as warning:
        ours = train_vocabulary.train_bpe([text], vocabulary_size=600)
    assert chr(0x4DD4) in ours.vocabulary  # the first of as rare ones
    assert "16 % of the words" in warning.call_args.args[0]
    # A larger vocabulary has room for all but the words that may be lost: the
    # 300 characters and 3 letters occur in 301 words, of which 1 % are 3.
    with mock.patch.object(train_vocabulary.logging, "warning") as warning:
        ours = train_vocabulary.train_bpe([text], vocabulary_size=1200)
    assert not warning.called
    assert len({e[0] for e in ours.vocabulary if len(e) == 1}) == 300


def test_a_stretch_without_spaces_is_not_learned_from():
    """It would take hours."""
    texts = [3_000_000 * "ab", "low lower"]
    with mock.patch.object(train_vocabulary.logging, "warning") as warning:
        ours = train_vocabulary.train_bpe(texts, vocabulary_size=100)
    assert "from 1 words of more than 1,000" in warning.call_args.args[0]
    assert ours.merges == [("l", "o")]  # No other pair occurs twice.
    assert {"a", "b</w>"} < set(ours.vocabulary)
