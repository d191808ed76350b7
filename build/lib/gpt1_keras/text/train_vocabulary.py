"""Learning a vocabulary from text, with Hugging Face `tokenizers`.

Our own pipeline splits the text into words; the library only counts pairs.
The result has the layout of the released vocabulary: `<unk>`, each character,
each character at the end of a word, one piece per merge, the line break.
"""

import collections
import json

import tokenizers

from gpt1_keras import errors
from gpt1_keras.text import byte_pair
from gpt1_keras.text import tokenizer
from gpt1_keras.text import word_piece
from gpt1_keras.text import words

MAX_CHARACTERS = 256
MIN_FREQUENCY = 2
_CHUNKS_REMEMBERED = 300_000
_WORDS_PER_LINE = 1000


class WordCounter:
    """Counts words; the cache of split chunks is kept between calls."""

    def __init__(self):
        self._split = tokenizer.ChunkDictionary(
            lambda word: (word,), _CHUNKS_REMEMBERED
        )

    def count(self, texts):
        """Return a Counter of the words of an iterable of texts."""
        counts = collections.Counter()
        for text in texts:
            counts.update(self._split(text))
        return counts


def train_bpe(
    texts,
    *,
    vocabulary_size,
    max_characters=MAX_CHARACTERS,
    min_frequency=MIN_FREQUENCY,
    show_progress=False,
):
    """Return a `Tokenizer` with byte pairs; equal texts give an equal one.

    Args:
        texts: iterable of str, or a Counter of words (`WordCounter`).
        vocabulary_size: int, entries including `<unk>` and the line break. A
            corpus with too few pairs gives fewer.
        max_characters: int. The most frequent characters become entries;
            words with other characters are not counted.
        min_frequency: int. Rarer pairs are not merged.
        show_progress: bool.

    Raises:
        InputError: there are no words, or more characters than entries.
    """
    counts, characters = _count(texts, max_characters)
    ends = [character + byte_pair.END_OF_WORD for character in characters]
    first = [byte_pair.UNKNOWN, *characters, *ends]
    _check_size(vocabulary_size, len(first) + 1)
    model = _learn(
        tokenizers.models.BPE(),
        tokenizers.trainers.BpeTrainer(
            vocab_size=vocabulary_size - 1,
            min_frequency=min_frequency,
            special_tokens=first,
            end_of_word_suffix=byte_pair.END_OF_WORD,
            show_progress=show_progress,
        ),
        counts,
    )
    merges = [tuple(pair) for pair in model["merges"]]
    pieces = dict.fromkeys(first + [left + right for left, right in merges])
    return tokenizer.Tokenizer([*pieces, byte_pair.BytePair.newline], merges)


def train_wordpiece(
    texts,
    *,
    vocabulary_size,
    max_characters=MAX_CHARACTERS,
    min_frequency=MIN_FREQUENCY,
    show_progress=False,
):
    """Learn a WordPiece vocabulary; arguments as in `train_bpe`."""
    counts, characters = _count(texts, max_characters)
    inner = [word_piece.CONTINUATION + character for character in characters]
    first = [word_piece.UNKNOWN, word_piece.NEWLINE_ENTRY, *characters, *inner]
    _check_size(vocabulary_size, len(first))
    model = _learn(
        tokenizers.models.WordPiece(unk_token=word_piece.UNKNOWN),
        tokenizers.trainers.WordPieceTrainer(
            vocab_size=vocabulary_size,
            min_frequency=min_frequency,
            special_tokens=first,
            continuing_subword_prefix=word_piece.CONTINUATION,
            show_progress=show_progress,
        ),
        counts,
    )
    ids = model["vocab"]
    return tokenizer.Tokenizer(sorted(ids, key=ids.get))


# Type of a tokenizer -> the function that learns its vocabulary.
TRAINERS = {"bpe": train_bpe, "wordpiece": train_wordpiece}


def _count(texts, max_characters):
    """Return {word: count} in fixed order, and the characters to keep."""
    if isinstance(texts, collections.Counter):
        counts = collections.Counter(texts)
    else:
        counts = WordCounter().count(texts)
    del counts[words.NEWLINE]
    if not counts:
        raise errors.InputError("the training text has no words")
    frequency = collections.Counter()
    for word, count in counts.items():
        for character in word:
            frequency[character] += count
    ranked = sorted(frequency, key=lambda c: (-frequency[c], c))
    rare = frozenset(ranked[max_characters:])
    kept = {w: counts[w] for w in sorted(counts) if rare.isdisjoint(w)}
    return kept, sorted(ranked[:max_characters])


def _check_size(vocabulary_size, least):
    if vocabulary_size < least:
        raise errors.InputError(
            f"a vocabulary of {vocabulary_size} entries is too small: the "
            f"characters of the text alone need {least}; ask for more"
        )


def _learn(model, trainer, counts):
    """Train, and return the model as in Hugging Face's JSON."""
    learner = tokenizers.Tokenizer(model)
    learner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    learner.train_from_iterator(_repeated(counts), trainer)
    return json.loads(learner.to_str())["model"]


def _repeated(counts):
    """Yield lines with each word as often as it was counted."""
    for word, count in counts.items():
        whole, rest = divmod(count, _WORDS_PER_LINE)
        line = (word + " ") * _WORDS_PER_LINE if whole else ""
        for _ in range(whole):
            yield line
        yield (word + " ") * rest
