import collections
import os
import pathlib
import subprocess
import sys

import pytest
import tokenizers

from gpt1_keras import errors
from gpt1_keras.text import standardize
from gpt1_keras.text import tokenizer
from gpt1_keras.text import train_vocabulary
from gpt1_keras.text import words

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXTS = [
    "The lowest of the low, and the newest; isn't it?\n",
    "He said: “Newer is wider than the widest, lower than the lowest.”",
    "the old man and the sea - naïve café; the low low lowering\nwidest",
] * 3


def split(text):
    return words.split_words(standardize.standardize(standardize.repair(text)))


def small_bpe(size=130, **arguments):
    return train_vocabulary.train_bpe(TEXTS, vocabulary_size=size, **arguments)


def test_bpe_has_the_released_layout():
    ours = small_bpe()
    entries = ours.vocabulary
    characters = sorted(
        {c for t in TEXTS for w in split(t) for c in w} - {"\n"}
    )
    n = len(characters)
    assert entries[0] == "<unk>"
    assert entries[1 : n + 1] == characters
    assert entries[n + 1 : 2 * n + 1] == [c + "</w>" for c in characters]
    assert entries[2 * n + 1 : -1] == [a + b for a, b in ours.merges]
    assert entries[-1] == "\n</w>"
    assert ours.newline_id == ours.vocabulary_size - 1
    assert ours.vocabulary_size <= 130


def test_the_first_merge_is_the_most_frequent_pair():
    pairs = collections.Counter()
    for text in TEXTS:
        for word in split(text):
            pieces = [*word[:-1], word[-1] + "</w>"]
            pairs.update(zip(pieces, pieces[1:]))
    first = small_bpe().merges[0]
    assert pairs[first] == max(pairs.values())


def test_bpe_read_again_encodes_as_hugging_face(tmp_path):
    small_bpe().save(tmp_path)
    ours = tokenizer.Tokenizer.from_directory(tmp_path)
    theirs = tokenizers.models.BPE.from_file(
        str(tmp_path / "vocabulary.json"),
        str(tmp_path / "merges.txt"),
        unk_token="<unk>",
        end_of_word_suffix="</w>",
    )
    for text in [*TEXTS, "the fewest words, unknown zebras, 5 & ñ"]:
        expected = []
        for word in split(text):
            if word == "\n":
                expected.append(ours.newline_id)
            else:
                expected += [token.id for token in theirs.tokenize(word)]
        assert ours.encode(text) == expected


def test_wordpiece_read_again_encodes_as_hugging_face(tmp_path):
    train_vocabulary.train_wordpiece(TEXTS, vocabulary_size=120).save(tmp_path)
    ours = tokenizer.Tokenizer.from_directory(tmp_path)
    assert ours.type == "wordpiece"
    assert ours.vocabulary[:2] == ["[UNK]", "[NEWLINE]"]
    assert 60 < ours.vocabulary_size <= 120
    theirs = tokenizers.models.WordPiece.from_file(
        str(tmp_path / "vocabulary.txt"), unk_token="[UNK]"
    )
    for text in [*TEXTS, "the fewest words, unknown zebras, 5 & ñ"]:
        expected = []
        for word in split(text):
            entry = "[NEWLINE]" if word == "\n" else word
            if entry in ours.vocabulary:
                expected.append(ours.vocabulary.index(entry))
            else:
                expected += [token.id for token in theirs.tokenize(word)]
        assert ours.encode(text) == expected
        known = [i for i in ours.encode(text) if i]
        assert "##" not in ours.decode(known)


def test_wordpiece_decodes_whole_words():
    ours = train_vocabulary.train_wordpiece(TEXTS, vocabulary_size=120)
    text = "the lowest man isn't old.\nwidest café"
    assert ours.decode(ours.encode(text)) == text


def test_fewer_entries_than_asked_on_little_text():
    ours = small_bpe(5000)
    assert ours.vocabulary_size < 5000
    assert len(set(ours.vocabulary)) == ours.vocabulary_size


def test_rare_characters_are_left_out():
    ours = small_bpe(max_characters=10)
    assert len([p for p in ours.vocabulary[1:] if len(p) == 1]) == 10
    assert "e" in ours.vocabulary and "ï" not in ours.vocabulary
    assert 0 in ours.encode("naïve")


def test_a_counter_of_words_gives_the_same():
    counts = collections.Counter(w for text in TEXTS for w in split(text))
    assert train_vocabulary.train_bpe(counts, vocabulary_size=130).sha256 == (
        small_bpe().sha256
    )
    assert counts["\n"]  # left as it was


@pytest.mark.parametrize(
    "texts, size, message",
    [
        (TEXTS, 20, "20 entries is too small"),
        ([], 100, "no word"),
        ([" \n "], 100, "no word"),
    ],
)
@pytest.mark.parametrize(
    "train", [train_vocabulary.train_bpe, train_vocabulary.train_wordpiece]
)
def test_mistakes_are_one_line(train, texts, size, message):
    with pytest.raises(errors.InputError, match=message):
        train(texts, vocabulary_size=size)


def test_every_process_learns_the_same():
    code = (
        "from tests.text import training_test as t\n"
        "from gpt1_keras.text import training\n"
        "print(t.small_bpe().sha256, training.train_wordpiece("
        "t.TEXTS[::-1], vocabulary_size=120).sha256)"
    )
    found = set()
    for seed in ("1", "2"):
        found.add(
            subprocess.run(
                [sys.executable, "-c", code],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    assert len(found) == 1
