import functools
import io
import tarfile
import unicodedata

import pytest
import tensorflow as tf
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import metrics
from gpt1_keras.text import standardize
from gpt1_keras.text import subwords
from gpt1_keras.text import tf_tokenizer
from gpt1_keras.text import tokenizer
from tests.reference import released_tokenizer

STRINGS = [tf.TensorSpec([None], tf.string)]
PYTHON = {
    "bpe": tokenizer.Tokenizer(
        [
            *("<unk>", *"abcdé$", *(f"{c}</w>" for c in "abcd.,'-$"), "ab</w>"),
            *("\n</w>", "n't</w>", "n'", "'t</w>"),
        ],
        [("a", "b</w>"), ("'", "t</w>"), ("n", "'t</w>")],
    ),
    "wordpiece": tokenizer.Tokenizer(
        ["[UNK]", "[NEWLINE]", "a", "b", "##b", "##a", "ab", *".,'", "do"]
    ),
}
TEXTS = [
    *("ab a.\n\n b, ab!  don't", " \n", "", "AB Ab aB", "“ab” a—b…"),
    "$3.50 a.b@c.d 'ab'",
]
LONG = "a" * 300  # split by the rules of the graph


@functools.cache
def graph_of(kind, pieces=(), limit=None):
    model = tf_tokenizer.GraphTokenizer(PYTHON[kind], pieces)
    return tf.function(lambda t: model(t, limit), input_signature=STRINGS)


def ids_of(graph, texts):
    return graph(tf.constant(texts, tf.string)).to_list()


@pytest.mark.parametrize("kind", PYTHON)
def test_as_in_python(kind):
    assert ids_of(graph_of(kind), TEXTS) == PYTHON[kind].encode_batch(TEXTS)


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40) | st.text(max_size=20), max_size=4))
def test_any_bytes_are_encoded(texts):
    texts = [t.encode() if isinstance(t, str) else t for t in texts]
    for kind, python in PYTHON.items():
        found = ids_of(graph_of(kind), texts)
        assert len(found) == len(texts)
        assert set(sum(found, [])) <= set(range(python.vocabulary_size))


def test_table_and_limit():
    """Pieces of the table are exact, even if the rules split otherwise."""
    expected = PYTHON["bpe"].encode(LONG)
    assert ids_of(graph_of("bpe"), [LONG]) != [expected]
    graph = graph_of("bpe", (LONG, "two pieces", ""))
    assert ids_of(graph, [LONG]) == [expected]
    graph = graph_of("bpe", limit=7)
    texts = ["ab a, b. c d", "abcabcabcabc ab", "", "a\nb\nc\nd"]
    expected = [ids[:7] for ids in PYTHON["bpe"].encode_batch(texts)]
    assert ids_of(graph, texts) == expected
    # A megabyte is truncated before it is split.
    texts = ["a" * 1_000_000, "ab " * 350_000, "(" * 1_000_000]
    assert [len(ids) for ids in ids_of(graph, texts)] == [7, 7, 7]


STANDARDIZE = tf_tokenizer.Standardize()
standardized = tf.function(STANDARDIZE.__call__, input_signature=STRINGS)


def assert_standardized_as_in_python(texts):
    found = [text.decode() for text in standardized(tf.constant(texts)).numpy()]
    for text, ours in zip(texts, found, strict=True):
        # The tokenizer drops the line breaks at the ends, too.
        repaired = standardize.repair(text).strip()
        expected = standardize.standardize(repaired).replace("\n", "\\n")
        ours = ours.replace(tf_tokenizer.NEWLINE, "\\n")
        assert ours.split() == expected.split()


ASCII = st.text(st.characters(max_codepoint=126, exclude_characters="&\\"))
# Not é: ftfy reads "”é" as one letter in MacRoman (tools/serve.md).
MARKS = st.text("ab .,-–—―…´'‘’“”\"!?()[]{}|_/*~;+\n\r\t 3š<>", max_size=30)


# No two of them make "Ã©" or the like, which Python repairs and the graph does not.
ENTITIES = "&amp; &lt; &quot; &amp;lt; &#39; &#039; &#x27; &#X2019; &nbsp; &eacute; &EACUTE; &alpha; &#59; &bogus; & ; <b> x".split()
MOJIBAKE = [
    *("schÃ¶n", "âœ”", "â€œnoâ€\x9d", "itâ€™s", "Â£5", "aÂ\xa0b", "ðŸ˜€", "Ã©"),
    *("\x92", "\x85", "é", "Ü"),
]
APART = ["café, naïve Ångström, tiếng Việt, 한국어", "x\u0301 \u0301a \u212b"]
HTML = st.lists(st.sampled_from([*ENTITIES, "\n", " "]), max_size=9)


@settings(max_examples=250)
@given(st.lists(ASCII | MARKS | HTML.map("".join), min_size=1, max_size=9))
# Entities are unescaped up to the line with the first "<".
@example(["<b>\n&amp;", "&amp;\n<b> &amp;\n&lt;", "&amp;amp;amp;lt;"])
def test_standardize_as_in_python(texts):
    assert_standardized_as_in_python(texts)


def test_what_the_graph_knows_of_ftfy():
    assert_standardized_as_in_python(
        [
            "‘curly’ “quotes” ‚low‛ „low‟",
            "a\r\nb\rc\u2028d\u2029e",
            "\x1b[1mbold\x1b[0m and \ufeffmark",
            "ﬁne aﬃx, Ĳssel, ŉ ﬅ",
            "ＦＵＬＬ　ｗｉｄｔｈ！",
            "a\u00a0b\u2003c\u3000d",
            # Accents and Korean letters apart, as in names of files on a Mac.
            *APART,
            *map(functools.partial(unicodedata.normalize, "NFD"), APART),
            *("", " \n ", "\x04\x04"),
            *(f"the {each} of it" for each in MOJIBAKE),
            " and ".join(MOJIBAKE[:6]),
        ]
    )
    (found,) = standardized(tf.constant([b"ab\xff\xfe c\x00d"])).numpy()
    assert found.decode() == "ab\ufffd\ufffd cd"


# In an order that nobody learns, and with pieces that the vocabulary lacks.
MERGES = [
    ("a", "b"), ("c", "a</w>"), ("ab", "ab"), ("b", "a"), ("a", "a"),
    ("aa", "aa"), ("ab", "c</w>"), ("é", "a"), ("cc", "cc"), ("c", "c"),
    ("cc", "c</w>"), ("b", "c</w>"), ("a", "bc</w>"),
]  # fmt: skip
ENTRIES = ["<unk>", *"abcé", *(f"{c}</w>" for c in "abc")] + [
    left + right for left, right in MERGES[:-1] if left + right != "abab"
]
IDS = {piece: i for i, piece in enumerate(ENTRIES)}
RULES = released_tokenizer.ReleasedTokenizer.of_merges(MERGES)
BYTE_PAIR = tf.function(
    tf_tokenizer.BytePair(IDS, MERGES).__call__, input_signature=STRINGS
)


@settings(max_examples=200)
@given(st.lists(st.text("aaabbcé?日", min_size=1, max_size=12), max_size=8))
def test_byte_pairs_as_in_the_released_code(words):
    expected = [[IDS.get(p, 0) for p in RULES.pieces(word)] for word in words]
    assert BYTE_PAIR(tf.constant(words, tf.string)).to_list() == expected


def test_a_merge_that_allows_an_earlier_one_is_as_in_python():
    """Merges that nobody learns: the leftmost of the lowest rank comes next."""
    merges = [("abc", "a"), ("b", "c"), ("a", "bc"), ("a", "bc</w>")]
    ids = {left + right: i for i, (left, right) in enumerate(merges, start=1)}
    ids |= {"b": 5, "c</w>": 6}
    (found,) = tf_tokenizer.BytePair(ids, merges)(tf.constant(["abcabc"]))
    python = subwords.BytePair(ids, merges).encode_word("abcabc")
    assert tuple(found.numpy()) == python == (1, 5, 6)


WORD_PIECES = [
    *("[UNK]", "[NEWLINE]", "a", "b", "ab", "##a", "##b", "##ab", "##bb"),
    *("é", "##é", "日", "aab", "##aba"),
]


@settings(max_examples=150)
@given(
    st.lists(
        st.text("aabbé日?", min_size=1, max_size=12)
        | st.sampled_from(["é" * 100, "é" * 101]),
        max_size=8,
    )
)
def test_word_pieces_as_in_python(words):
    ids = {piece: i for i, piece in enumerate(WORD_PIECES)}
    python = subwords.WordPiece(ids)
    graph = tf_tokenizer.WordPiece(WORD_PIECES)
    expected = [list(python.encode_word(word)) for word in words]
    assert graph(tf.constant(words, tf.string)).to_list() == expected


@pytest.mark.needs_data
@pytest.mark.slow
def test_released_vocabulary(shared_file, released_files, golden_cases):
    """All but what only ftfy can mend; nearly all of GLUE and of novels."""
    python = tokenizer.Tokenizer.from_files(*released_files)
    model = tf_tokenizer.GraphTokenizer(python)
    graph = tf.function(model.__call__, input_signature=STRINGS)
    found = ids_of(graph, [case["text"] for case in golden_cases])
    assert found == [case["ids"] for case in golden_cases]
    folder = shared_file("data/glue")
    texts = {"novels": []}
    for name in ("cola", "sst2", "mrpc", "stsb", "rte"):
        rows = getattr(glue, f"read_{name}")(folder.parent, "dev")
        texts[name] = [t for r in rows for t in (r.text, r.text_pair) if t]
    with tarfile.open(shared_file("data/books/books.tar.xz")) as archive:
        for member in archive:
            if member.isfile() and len(texts["novels"]) < 20_000:
                file = io.TextIOWrapper(archive.extractfile(member), "utf-8")
                texts["novels"] += file.read(400_000).split("\n\n")
    for name, each in texts.items():
        shares = metrics.agreement_of_ids(
            python.encode_batch(each), ids_of(graph, each)
        )
        assert shares["identical_texts"] > 0.995, name
        limit = 0.9999 if name == "novels" else 0.999
        assert shares["identical_tokens"] > limit, name
