"""Text to read: the generated sample corpus."""

import pathlib
import tempfile


def paragraphs(words):
    """Return about `words` words (int) as a list of paragraphs."""
    from gpt1_keras.sample_world import corpus

    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory) / "books"
        corpus.write_corpus(folder, words=words)
        books = [path.read_text("utf-8") for path in sorted(folder.iterdir())]
    return [
        line.strip()
        for book in books
        for line in book.split("\n")
        if line.strip()
    ]


def sentences(count):
    """Return `count` different sentences of at least three words."""
    found = {}
    for paragraph in paragraphs(max(40 * count, 5000)):
        for sentence in paragraph.split(". "):
            if len(sentence.split()) >= 3:
                found[sentence.rstrip(".") + "."] = None
    return list(found)[:count]
