"""`text.word_piece` as a TensorFlow graph, all words at once."""

import tensorflow as tf
import tensorflow_text

from gpt1_keras.text import word_piece


class WordPiece(tf.Module):
    """WordPiece encoding of words, by tensorflow-text.

    Args:
        pieces: list of str, the vocabulary by id.

    Call arguments:
        words: string `[W]`, none empty.

    Returns:
        ragged int32 `[W, (ids)]`.
    """

    def __init__(self, pieces):
        super().__init__()
        self._tokenizer = tensorflow_text.FastWordpieceTokenizer(
            pieces,
            suffix_indicator=word_piece.CONTINUATION,
            # The limit is one of characters, of at most four bytes.
            max_bytes_per_word=4 * word_piece.MAX_WORD_CHARACTERS,
            token_out_type=tf.int32,
            unknown_token=word_piece.UNKNOWN,
            no_pretokenization=True,
        )

    def __call__(self, words):
        lengths = tf.strings.length(words, "UTF8_CHAR")
        words = tf.where(
            lengths > word_piece.MAX_WORD_CHARACTERS, word_piece.UNKNOWN, words
        )
        return self._tokenizer.tokenize(words)
