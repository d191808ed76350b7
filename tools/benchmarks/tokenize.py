"""Tokenizers: megabytes per second, and the share of books with equal ids.

`python` is our tokenizer, book by book; `graph` is its TensorFlow graph;
`transformers` is its fast tokenizer on the same vocabulary, which splits by
other rules. `python_new` starts every round with an empty cache of chunks, as
at the start of a corpus.
"""

from tools.benchmarks import contest
from tools.benchmarks import networks
from tools.benchmarks import texts

_WORDS = 200_000


def measure(*, sizes, rounds, words=_WORDS):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: not used: the tokenizer is that of the preset.
        rounds: int, how often each contender reads the text.
        words: int, of the text.
    """
    del sizes
    paragraphs = texts.paragraphs(words)
    books = [
        "\n".join(paragraphs[i : i + 500])
        for i in range(0, len(paragraphs), 500)
    ]
    pipeline = networks.tokenizer()
    found, ids = contest.run(
        {
            "graph": _graph(pipeline, books),
            "python": lambda: pipeline.encode_batch(books),
            "python_new": lambda: networks.tokenizer().encode_batch(books),
            "transformers": _transformers(pipeline, books),
        },
        rounds=rounds,
        work=sum(len(book.encode("utf-8")) for book in books) / 1e6,
        peer_of="graph",
    )
    return {
        "unit": "MB/s",
        **found,
        "tokens": sum(map(len, ids["python"])),
        "equal_books": {
            name: sum(map(list.__eq__, theirs, ids["python"])) / len(books)
            for name, theirs in ids.items()
        },
    }


def _graph(pipeline, books):
    import tensorflow as tf

    from gpt1_keras.text import tf_tokenizer

    tokenizer = tf_tokenizer.GraphTokenizer(pipeline)
    encode = tf.function(
        lambda texts: tokenizer(texts).values,
        input_signature=[tf.TensorSpec([1], tf.string)],
    )
    return lambda: [encode(tf.constant([b])).numpy().tolist() for b in books]


def _transformers(pipeline, books):
    if not networks.has_transformers():
        return None
    import transformers

    unknown = pipeline.vocabulary[0]
    tokenizer = transformers.OpenAIGPTTokenizer(
        vocab={piece: i for i, piece in enumerate(pipeline.vocabulary)},
        merges=[tuple(pair) for pair in pipeline.merges],
        unk_token=unknown,
    )
    return lambda: tokenizer(books)["input_ids"]
