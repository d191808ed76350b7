"""How far the tokenizer in the graph is the one in Python, on any text."""

from absl import logging

from gpt1_keras import errors
from gpt1_keras import progress
from gpt1_keras.data import books
from gpt1_keras.evaluation import agreement

_BATCH = 256  # paragraphs


def measure(tokenizer, graph, path):
    """Compare both tokenizers on the paragraphs of text files.

    Args:
        tokenizer: `text.tokenizer.Tokenizer`.
        graph: `text.tf_tokenizer.GraphTokenizer` of it.
        path: a `.txt` file or a folder of them.

    Returns:
        dict of `paragraphs`, their number, and `identical_paragraphs` and
        `identical_paragraph_tokens`, shares.

    Raises:
        InputError: there is no text.
    """
    import tensorflow as tf

    encode = tf.function(
        lambda texts: graph(texts),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    paragraphs = _paragraphs(path)
    expected, found = [], []
    starts = range(0, len(paragraphs), _BATCH)
    with progress.bar("tokenizer in the graph", len(starts)) as advance:
        for start in starts:
            batch = paragraphs[start : start + _BATCH]
            expected += tokenizer.encode_batch(batch)
            found += encode(tf.constant(batch)).to_list()
            advance(1)
    shares = agreement.of_ids(expected, found)
    return {
        "paragraphs": len(paragraphs),
        "identical_paragraphs": shares["identical_texts"],
        "identical_paragraph_tokens": shares["identical_tokens"],
    }


def _paragraphs(path):
    found = []
    for name, file in books.find_books([path]).items():
        try:
            found += books.clean(books.read_book(file)).splitlines()
        except books.BrokenBook as error:
            logging.warning("%s is left out: %s", name, error)
    found = [paragraph for paragraph in found if paragraph.strip()]
    if not found:
        raise errors.InputError(
            f"IDENTITY_TEXTS {path} has no paragraph of text: give .txt files"
        )
    return found
