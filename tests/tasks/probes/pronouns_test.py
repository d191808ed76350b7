import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import letter_tokenizer

PROBE = zero_shot.probe("dprd")


def example(text, pronoun="it", choices=("The cup", "me"), label=0):
    return examples.Example(text, pronoun, choices, label)


def item(row, limit=100):
    """Return the prefix and (read, scored) of each continuation as text."""
    found = PROBE.item(
        row,
        tokenizer=letter_tokenizer.LetterTokenizer(),
        max_sequence_length=limit,
    )
    longest = max(len(c.ids) for c in found.continuations)
    assert found.prefix and len(found.prefix) + longest <= limit
    texts = ["".join(map(chr, c.ids)) for c in found.continuations]
    return "".join(map(chr, found.prefix)), [
        (text[: c.num_context], text[c.num_context :])
        for text, c in zip(texts, found.continuations)
    ]


@pytest.mark.parametrize(
    "text, limit, prefix, read, scored",
    [
        ("so [MASK] fell.", 100, "so", ["Thecup", "me"], "fell."),
        ("[MASK] fell.", 100, "\n", ["Thecup", "me"], "fell."),
        ("I saw [MASK].", 100, "Isaw", ["Thecup", "me"], "."),
        # Too long: the beginning goes, then the end.
        ("so [MASK] fell.", 12, "o", ["Thecup", "me"], "fell."),
        ("so [MASK] fell.", 10, "o", ["Thecup", "me"], "fel"),
        ("so [MASK] fell.", 5, "o", ["cup", "me"], "f"),
        ("so [MASK] fell.", 3, "o", ["p", "e"], "f"),
    ],
)
def test_the_rest_is_scored(text, limit, prefix, read, scored):
    found = item(example(text), limit)
    assert found == (prefix, [(name, scored) for name in read])


def test_nothing_behind_the_pronoun():
    found = item(example("I saw [MASK]"))
    assert found == ("Isaw", [("", "Thecup"), ("", "me")])


def test_possessives():
    choices = ("Ann", "the boys", "Tom and I")
    assert zero_shot.substitute(
        example("It was [MASK] turn.", "their", choices)
    ) == ("It was ", ["Ann's", "the boys'", "Tom and I's"], " turn.")
    assert zero_shot.substitute(example("She took [MASK] to town.", "her")) == (
        "She took ",
        ["The cup", "me"],
        " to town.",
    )


def test_measure():
    def scores(sums, count):
        return packing.Scores(
            np.array(sums), np.array([count] * 2), np.zeros(2, bool)
        )

    found = PROBE.measure(
        [
            example("It was [MASK] turn.", "his", label=1),
            example("so [MASK] fell.", label=0),
            example("I saw [MASK] .", label=0),
            example("I saw [MASK]", label=1),
        ],
        [
            scores([-2.0, -1.0], 2),
            scores([-1.0, -2.0], 2),
            scores([-3.0, -2.0], 1),
            scores([-3.0, -2.0], 1),
        ],
    )
    # "The cup" four times within a sentence.
    assert found == {
        "accuracy": 0.75,
        "num_possessive": 1,
        "num_recased": 4,
        "num_last": 2,
    }
    assert next(iter(found)) == "accuracy"
    assert PROBE.majority([example("", label=1)] * 2) == {"accuracy": 1.0}


@pytest.mark.parametrize(
    "text, pronoun, choices, is_recased",
    [
        ("so [MASK] fell.", "it", ("The cup", "the jug"), True),
        ("so [MASK] fell.", "it", ("the cup", "the jug"), False),
        ("so [MASK] fell.", "he", ("Tom", "Bill"), True),
        ("[MASK] fell.", "He", ("Tom", "Bill"), False),
        ("[MASK] fell.", "It", ("The cup", "the jug"), True),
        ("It was full. [MASK] fell.", "It", ("the cup", "the jug"), True),
        ('"No!" [MASK] fell.', "It", ("The cup", "The jug"), False),
        ("and [MASK] fell.", "I", ("the cup", "the jug"), False),
        # The file hides its pronoun.
        ("It was full. [MASK] fell.", "", ("Tom", "Bill"), False),
        ("It was full, [MASK] fell.", "", ("Tom", "Bill"), True),
    ],
)
def test_recased(text, pronoun, choices, is_recased):
    row = example(text, pronoun, choices)
    scores = packing.Scores(np.zeros(2), np.ones(2), np.zeros(2, bool))
    found = PROBE.measure([row], [scores])
    assert found["num_recased"] == int(is_recased)


@given(
    st.text("ab .", max_size=30),
    st.lists(st.text("cd", min_size=1, max_size=30), min_size=2, max_size=4),
    st.text("ef .", max_size=30),
    st.integers(3, 20),
)
def test_any_text_fits(before, choices, after, limit):
    row = example(f"{before}[MASK]{after}", "he", tuple(choices))
    _, found = item(row, limit)
    scored = {scored for _, scored in found}
    if after.replace(" ", ""):
        assert len(scored) == 1
        assert after.replace(" ", "").startswith(scored.pop())
    assert all(scored for _, scored in found)


@pytest.mark.needs_data
def test_parts_are_encoded_as_the_whole(shared_file):
    """The tokens are those of the text with the candidate in it."""
    data = shared_file("data/dpr/test.c.txt").parent.parent
    shared_file("data/winograd/PDP.txt")
    folder = shared_file("data/gpt1_vocab")
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        folder / "encoder_bpe_40000.json", folder / "vocab_40000.bpe"
    )
    counts = {}
    for name in ("dprd", "pdp"):
        probe = zero_shot.probe(name)
        rows = probe.read(data, "test")
        counts[name] = 0
        for row in rows:
            before, candidates, after = zero_shot.substitute(row)
            counts[name] += candidates != list(row.choices)
            found = probe.item(
                row, tokenizer=tokenizer, max_sequence_length=512
            )
            assert [found.prefix + c.ids for c in found.continuations] == [
                tokenizer.encode(before + text + after) for text in candidates
            ]
    # By hand: his 6 times, and "her tail", "her music" twice.
    assert counts == {"dprd": 9, "pdp": 13}


@pytest.mark.needs_data
def test_recased_of_dprd(shared_file):
    """All its pronouns stand within a sentence: only capitals count."""
    data = shared_file("data/dpr/test.c.txt").parent.parent
    rows = PROBE.read(data, "test")
    small = [
        row for row in rows if not re.search("[A-Z]", "".join(row.choices))
    ]
    scores = packing.Scores(np.zeros(2), np.ones(2), np.zeros(2, bool))
    found = PROBE.measure(rows, [scores] * len(rows))
    assert len(small) == 10
    assert (found["num_recased"], len(rows)) == (554, 564)
