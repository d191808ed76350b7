import io
import json
import tarfile

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import metrics
from gpt1_keras.text import tf_tokenizer
from gpt1_keras.text import tokenizer

RELEASED = (
    "data/gpt1_vocab/encoder_bpe_40000.json",
    "data/gpt1_vocab/vocab_40000.bpe",
)
BYTE_PAIRS = tokenizer.Tokenizer(
    [
        *("<unk>", *"abcdé$", *(f"{c}</w>" for c in "abcd.,'-$"), "ab</w>"),
        *("\n</w>", "n't</w>", "n'", "'t</w>"),
    ],
    [("a", "b</w>"), ("'", "t</w>"), ("n", "'t</w>")],
)
WORD_PIECES = tokenizer.Tokenizer(
    ["[UNK]", "[NEWLINE]", "a", "b", "##b", "##a", "ab", ".", ",", "'", "do"]
)
SEED_TEXTS = [
    "ab a.\n\n b, ab!  don't",
    " \n",
    "",
    "AB Ab aB",
    "“ab” a—b…",
    "$3.50 a.b@c.d 'ab'",
    "x" * 300,
]


def graph_of(python, pieces=(), limit=None):
    model = tf_tokenizer.GraphTokenizer(python, pieces)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def encode(texts):
        return model(texts, limit)

    encode.model = model
    return encode


GRAPHS = {"bpe": graph_of(BYTE_PAIRS), "wordpiece": graph_of(WORD_PIECES)}
PYTHON = {"bpe": BYTE_PAIRS, "wordpiece": WORD_PIECES}


def ids_of(graph, texts):
    return graph(tf.constant(texts, tf.string)).to_list()


@pytest.mark.parametrize("kind", PYTHON)
def test_as_in_python(kind):
    assert ids_of(GRAPHS[kind], SEED_TEXTS[:-1]) == PYTHON[kind].encode_batch(
        SEED_TEXTS[:-1]
    )


@settings(max_examples=100)
@given(st.lists(st.text("abcd .,\n-$", max_size=40), max_size=4))
def test_plain_text_as_in_python(texts):
    assert ids_of(GRAPHS["bpe"], texts) == BYTE_PAIRS.encode_batch(texts)


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=40) | st.text(max_size=20), max_size=4))
def test_any_bytes_are_encoded(texts):
    for kind, graph in GRAPHS.items():
        texts = [t.encode() if isinstance(t, str) else t for t in texts]
        found = ids_of(graph, texts)
        assert len(found) == len(texts)
        size = PYTHON[kind].vocabulary_size
        assert all(0 <= i < size for ids in found for i in ids)


def test_pieces_of_the_table_are_exact():
    """Even one that the rules split otherwise."""
    text = "schÃ¶n ab"  # ftfy mends it
    piece, _ = text.split()
    with_table = graph_of(BYTE_PAIRS, [piece, "two pieces", ""])
    expected = BYTE_PAIRS.encode(text)
    assert ids_of(GRAPHS["bpe"], [text]) != [expected]
    assert ids_of(with_table, [text]) == [expected]


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_limit(limit):
    texts = ["ab a, b. c d", "abcabcabcabc ab", "", "a\nb\nc\nd"]
    assert ids_of(graph_of(BYTE_PAIRS, limit=limit), texts) == [
        ids[:limit] for ids in BYTE_PAIRS.encode_batch(texts)
    ]


def test_a_megabyte_is_cut_first():
    texts = ["a" * 1_000_000, "ab " * 350_000, "(" * 1_000_000]
    found = ids_of(graph_of(BYTE_PAIRS, limit=20), texts)
    assert [len(ids) for ids in found] == [20, 20, 20]


def test_graph_is_of_core_operations_only(tmp_path):
    model = GRAPHS["bpe"].model
    model.run = GRAPHS["bpe"]
    tf.saved_model.save(model, tmp_path)
    assert tf.saved_model.load(tmp_path).run(["ab a"]).to_list() == [
        BYTE_PAIRS.encode("ab a")
    ]
    graph = GRAPHS["bpe"].get_concrete_function().graph.as_graph_def()
    operations = {node.op for node in graph.node} | {
        node.op for f in graph.library.function for node in f.node_def
    }
    assert {"StaticRegexReplace", "StringLower"} <= operations
    assert not any("Py" in name or "Text" in name for name in operations)


def test_frequent_pieces():
    texts = ["ab ab, “ab” x", "x ab\n"]
    assert tf_tokenizer.frequent_pieces(texts, 2) == ["ab", '"']
    assert set(tf_tokenizer.frequent_pieces(texts, 9)) == {
        *("ab", '"', ",", "x")
    }


# --- the released vocabulary -------------------------------------------------


@pytest.fixture(scope="module")
def released():
    """A function of `shared_file`: the Python and the graph tokenizer."""
    made = []

    def make(shared_file):
        if not made:
            python = tokenizer.Tokenizer.from_files(*map(shared_file, RELEASED))
            made.extend((python, graph_of(python)))
        return made

    return make


def shares(released, texts):
    """Share of texts and of tokens that are the same."""
    python, graph = released
    found = metrics.agreement_of_ids(
        python.encode_batch(texts), ids_of(graph, texts)
    )
    print(len(texts), "texts:", found)
    return found["identical_texts"], found["identical_tokens"]


@pytest.mark.needs_data
@pytest.mark.slow
def test_golden_ids(released, shared_file):
    path = shared_file("golden/tokenizer_openai_a.json")
    cases = json.loads(path.read_text("utf-8"))
    _, graph = released(shared_file)
    found = ids_of(graph, [case["text"] for case in cases])
    wrong = [
        case["text"]
        for case, ids in zip(cases, found, strict=True)
        if ids != case["ids"]
    ]
    assert wrong == ["schÃ¶n âœ” No problems"]  # only ftfy can mend it


@pytest.mark.needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["cola", "sst2", "mrpc", "stsb", "rte"])
def test_glue(released, shared_file, name):
    folder = shared_file("data/glue")
    rows = getattr(glue, f"read_{name}")(folder.parent, "dev")
    texts = [t for row in rows for t in (row.text, row.text_pair) if t]
    of_texts, of_tokens = shares(released(shared_file), texts)
    assert of_texts > 0.995 and of_tokens > 0.999


@pytest.mark.needs_data
@pytest.mark.slow
def test_novels(released, shared_file):
    texts = []
    with tarfile.open(shared_file("data/books/books.tar.xz")) as archive:
        for member in archive:
            if member.isfile() and len(texts) < 20_000:
                file = io.TextIOWrapper(archive.extractfile(member), "utf-8")
                texts += file.read(400_000).split("\n\n")
    of_texts, of_tokens = shares(released(shared_file), texts)
    assert of_texts > 0.995 and of_tokens > 0.9999
