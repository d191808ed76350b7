"""Train a vocabulary on texts with Hugging Face `tokenizers`.

This package splits the text into words; the library only learns the pieces.
"""

import collections
import itertools
import json

import tokenizers
from absl import logging

from gpt1_keras import errors
from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer
from gpt1_keras.text import words

_MANY = 0.01  # of the words
# Characters that are kept in any case, if there are so many. Of rarer ones, as
# many are dropped as occur in at most `_MANY` words; they become unknown.
_COMMON = 256
_SHARE = 0.25  # of the entries, or `_COMMON`: the most characters
# Longer stretches without spaces are not learned from: the library takes time
# that grows with the square of their length.
_LONGEST_WORD = 1000
_MIN_FREQUENCY = 2  # Rarer pairs are not merged.
_WORDS_PER_LINE = 1000
_split = tokenizer.ChunkDictionary(lambda word: (word,))
_flat = itertools.chain.from_iterable


def count_words(texts):
    """Return a Counter of the words in an iterable of texts."""
    return collections.Counter(_flat(map(_split, texts)))


def train_bpe(texts, *, vocabulary_size, show_progress=False):
    """Return a byte-pair `Tokenizer`; the same texts give the same one.

    Entries are in the released order: `<unk>`, each character, each character
    at the end of a word, one piece per merge, the line break.

    Args:
        texts: iterable of str, or a Counter of words (`count_words`).
        vocabulary_size: int, entries including `<unk>` and the line break;
            there are fewer if the texts have too few pairs.
        show_progress: bool.

    Raises:
        InputError: there are no words, or more characters than entries.
    """
    counts, characters = _count(texts, vocabulary_size)
    ends = [character + subwords.END_OF_WORD for character in characters]
    first = [subwords.BytePair.unknown, *characters, *ends]
    newline = subwords.BytePair.newline
    model = _learn(
        tokenizers.models.BPE(),
        tokenizers.trainers.BpeTrainer,
        counts,
        [*first, newline],
        vocabulary_size,
        end_of_word_suffix=subwords.END_OF_WORD,
        show_progress=show_progress,
    )
    pieces = dict.fromkeys([*first, *map("".join, model["merges"])])
    return tokenizer.Tokenizer([*pieces, newline], model["merges"])


def train_wordpiece(texts, *, vocabulary_size, show_progress=False):
    """Return a WordPiece `Tokenizer`; arguments as in `train_bpe`."""
    counts, characters = _count(texts, vocabulary_size)
    inner = [subwords.CONTINUATION + character for character in characters]
    marks = [subwords.WordPiece.unknown, subwords.WordPiece.newline]
    model = _learn(
        tokenizers.models.WordPiece(unk_token=subwords.WordPiece.unknown),
        tokenizers.trainers.WordPieceTrainer,
        counts,
        [*marks, *characters, *inner],
        vocabulary_size,
        continuing_subword_prefix=subwords.CONTINUATION,
        show_progress=show_progress,
    )
    ids = model["vocab"]
    return tokenizer.Tokenizer(sorted(ids, key=ids.get))


# Type of a tokenizer -> the function that learns its vocabulary.
TRAINERS = {"bpe": train_bpe, "wordpiece": train_wordpiece}


def _count(texts, size):
    """Return {word: count} in fixed order, and the characters to keep."""
    is_counted = isinstance(texts, collections.Counter)
    counts = collections.Counter(texts) if is_counted else count_words(texts)
    del counts[words.NEWLINE]
    if not counts:
        raise errors.InputError("the training text has no words")
    frequency = collections.Counter()
    for word, count in counts.items():
        for character in word:
            frequency[character] += count
    ranked = sorted(frequency, key=lambda c: (-frequency[c], c))
    rank = {character: i for i, character in enumerate(ranked)}
    # [words]: the rank of the rarest character of each
    rarest = {word: max(map(rank.get, word)) for word in sorted(counts)}
    words_of = collections.Counter()
    for word, place in rarest.items():
        words_of[place] += counts[word]
    lost, num_kept = 0, len(ranked)
    most = max(_COMMON, int(_SHARE * size))
    while num_kept > _COMMON and (
        num_kept > most
        or lost + words_of[num_kept - 1] <= _MANY * counts.total()
    ):
        num_kept -= 1
        lost += words_of[num_kept]
    if lost > _MANY * counts.total():
        logging.warning(
            f"{100 * lost / counts.total():.0f} % of the words have characters"
            f" beyond the {num_kept:,} most frequent ones, which will be"
            " unknown: raise `vocabulary_size`"
        )
    kept = {
        word: counts[word]
        for word, place in rarest.items()
        if place < num_kept and len(word) <= _LONGEST_WORD
    }
    long = sum(counts[word] for word in counts if len(word) > _LONGEST_WORD)
    if long:
        logging.warning(
            f"nothing is learned from {long:,} words of more than"
            f" {_LONGEST_WORD:,} characters"
        )
    return kept, sorted(ranked[:num_kept])


def _learn(model, build_trainer, counts, first, size, **options):
    """Train and return the model in Hugging Face's JSON form.

    `first` are the entries that are not learned, `size` counts all.
    """
    if size < len(first):
        raise errors.InputError(
            f"a vocabulary of {size} entries is too small: the characters of"
            f" the text alone need {len(first)}: raise `vocabulary_size`"
        )
    # The library reserves memory for `size`: limit it to what can be learned.
    size = min(size, len(first) + 2 * sum(map(len, counts)))
    learner = tokenizers.Tokenizer(model)
    learner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = build_trainer(
        vocab_size=size,
        min_frequency=_MIN_FREQUENCY,
        special_tokens=first,
        **options,
    )
    lines = (  # with each word as often as it was counted
        f"{word} " * min(_WORDS_PER_LINE, count - done)
        for word, count in counts.items()
        for done in range(0, count, _WORDS_PER_LINE)
    )
    learner.train_from_iterator(lines, trainer)
    return json.loads(learner.to_str())["model"]
