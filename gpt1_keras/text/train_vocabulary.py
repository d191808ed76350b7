"""A vocabulary learned from a corpus, with Hugging Face `tokenizers`.

Words are split by our own pipeline; the library only counts pairs. The result
has the form of the released vocabulary: `<unk>`, each character, each
character at the end of a word, one piece per merge, and the line break.
"""

import collections
import json

import tokenizers

from gpt1_keras import errors
from gpt1_keras.text import byte_pair
from gpt1_keras.text import tokenizer
from gpt1_keras.text import word_piece
from gpt1_keras.text import words

# -----------------------------------------------------------------------------
# How often each word of a corpus occurs.

_CHUNKS_REMEMBERED = 300_000


class WordCounter:
    """Counts words, text after text, with a dictionary that it keeps."""

    def __init__(self):
        self._split = tokenizer.ChunkDictionary(_alone, _CHUNKS_REMEMBERED)

    def count(self, texts):
        """Return a Counter of the words of an iterable of texts.

        Memory grows with the number of different words, not with the texts.
        """
        counts = collections.Counter()
        for text in texts:
            counts.update(self._split(text))
        return counts


def count_words(texts):
    """Return a Counter of the words of an iterable of texts."""
    return WordCounter().count(texts)


def _alone(word):
    return (word,)


# -----------------------------------------------------------------------------
# A vocabulary learned from a corpus, with Hugging Face `tokenizers`.

MAX_CHARACTERS = 256
MIN_FREQUENCY = 2
_WORDS_PER_LINE = 1000


def train_bpe(
    texts,
    *,
    vocabulary_size,
    max_characters=MAX_CHARACTERS,
    min_frequency=MIN_FREQUENCY,
    show_progress=False,
):
    """Learn a byte-pair vocabulary.

    Args:
        texts: iterable of str, or a Counter of words (`word_counts`).
        vocabulary_size: int, entries with `<unk>` and the line break; fewer
            come out where the corpus has too few pairs.
        max_characters: int. The most frequent characters are entries; words
            with others are left out of the counting.
        min_frequency: int. Pairs met less often are not merged.
        show_progress: bool. Show the progress of learning on a terminal.

    Returns: Tokenizer. The same texts give the same one.

    Raises: InputError, if there is no text, or more characters than entries.
    """
    counts, characters = _count(texts, max_characters)
    ends = [character + byte_pair.END_OF_WORD for character in characters]
    first = [byte_pair.UNKNOWN, *characters, *ends]
    _check_size(vocabulary_size, len(first) + 1)
    learner = tokenizers.Tokenizer(tokenizers.models.BPE())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary_size - 1,
        min_frequency=min_frequency,
        special_tokens=first,
        end_of_word_suffix=byte_pair.END_OF_WORD,
        show_progress=show_progress,
    )
    model = _learn(learner, trainer, counts)
    merges = [tuple(pair) for pair in model["merges"]]
    pieces = dict.fromkeys(first + [left + right for left, right in merges])
    newline = words.NEWLINE + byte_pair.END_OF_WORD
    return tokenizer.Tokenizer([*pieces, newline], merges)


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
    first = [
        word_piece.UNKNOWN,
        word_piece.NEWLINE_ENTRY,
        *characters,
        *inner,
    ]
    _check_size(vocabulary_size, len(first))
    learner = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(unk_token=word_piece.UNKNOWN)
    )
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=min_frequency,
        special_tokens=first,
        continuing_subword_prefix=word_piece.CONTINUATION,
        show_progress=show_progress,
    )
    ids = _learn(learner, trainer, counts)["vocab"]
    return tokenizer.Tokenizer(sorted(ids, key=ids.get))


def _count(texts, max_characters):
    """Return the words that count, and the characters in code point order."""
    if isinstance(texts, collections.Counter):
        counts = collections.Counter(texts)
    else:
        counts = count_words(texts)
    del counts[words.NEWLINE]
    if not counts:
        raise errors.InputError("no word in the text to learn from")
    frequency = collections.Counter()
    for word, count in counts.items():
        for character in word:
            frequency[character] += count
    ranked = sorted(frequency, key=lambda c: (-frequency[c], c))
    characters = sorted(ranked[:max_characters])
    rare = frozenset(ranked[max_characters:])
    kept = {w: n for w, n in counts.items() if rare.isdisjoint(w)}
    return dict(sorted(kept.items())), characters


def _check_size(vocabulary_size, least):
    if vocabulary_size < least:
        raise errors.InputError(
            f"a vocabulary of {vocabulary_size} entries is too small: the "
            f"characters of the text take {least}; ask for more"
        )


def _learn(learner, trainer, counts):
    """Train and return the model as Hugging Face's JSON describes it."""
    learner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    learner.train_from_iterator(_repeated(counts), trainer)
    return json.loads(learner.to_str())["model"]


def _repeated(counts):
    """Yield lines in which each word stands as often as it was counted."""
    for word, count in counts.items():
        whole, rest = divmod(count, _WORDS_PER_LINE)
        line = (word + " ") * _WORDS_PER_LINE if whole else ""
        for _ in range(whole):
            yield line
        yield (word + " ") * rest
