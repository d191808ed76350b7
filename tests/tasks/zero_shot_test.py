import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import letter_tokenizer
from tests.reference import small_models

COLA, SST2, RACE, DPRD, LAMBADA = map(
    zero_shot.task, ("cola", "sst2", "race", "dprd", "lambada")
)
LETTERS = letter_tokenizer.LetterTokenizer()


def candidates(task, example, limit, tokenizer=LETTERS):
    """Return prefix, (read, scored) of each continuation as text, num_cut."""
    found = task.candidates(
        example, tokenizer=tokenizer, max_sequence_length=limit
    )
    longest = max(sum(map(len, each)) for each in found.continuations)
    assert found.prefix and len(found.prefix) + longest <= limit
    prefix, *texts = (
        tuple("".join(map(chr, ids)) for ids in each)
        for each in ((found.prefix,), *found.continuations)
    )
    return *prefix, texts, found.num_cut


def labelled(*labels):
    return [examples.Example("", label=label) for label in labels]


def scores(sums, counts=1, is_likeliest=False):
    shape = len(sums)
    return packing.Scores(
        np.array(sums, float),
        np.broadcast_to(counts, shape),
        np.broadcast_to(is_likeliest, shape),
    )


@pytest.mark.parametrize(
    "task, example, limit, prefix, scored, num_cut",
    [
        (COLA, ("ab c.",), 8, "a", ["bc."], 0),
        (COLA, ("abcdefghij",), 8, "a", ["bcdefgh"], 0),
        (COLA, ("a",), 8, "\n", ["a"], 0),
        (COLA, ("",), 8, "\n", ["\n"], 0),
        (SST2, ("fun .",), 50, "fun.very", ["negative", "positive"], 0),
        (SST2, ("fun .",), 11, "ery", ["negative", "positive"], 5),
        (SST2, ("fun .",), 3, "y", ["ne", "po"], 7),
        *(
            (RACE, ("doc ument", "why?", ("a", "bcd", "ef")), limit, prefix, ["a", longest, "ef"], num_cut)
            for limit, prefix, longest, num_cut in (
                (15, "documentwhy?", "bcd", 0),
                (12, "umentwhy?", "bcd", 3),
                (5, "y?", "bcd", 10),
                (3, "?", "bc", 11),
            )
        ),
        (LAMBADA, ("ab c", "", ("tom",)), 9, "abc", ["tom"], 0),
        (LAMBADA, ("ab c", "", ("tom",)), 5, "bc", ["tom"], 1),
        (LAMBADA, ("ab c", "", ("tom",)), 3, "c", ["to"], 2),
        (LAMBADA, ("`` a , '' ` b ' -lrb- c -rrb-", "", ("d",)), 50, "\"a,\"'b'(c)", ["d"], 0),
        (LAMBADA, ("``a x'' rock'n", "", ("d",)), 50, "``ax''rock'n", ["d"], 0),
    ],
)  # fmt: skip
def test_candidates(task, example, limit, prefix, scored, num_cut):
    found = candidates(task, examples.Example(*example), limit)
    assert found == (prefix, [("", text) for text in scored], num_cut)


def test_averages_against_the_train_threshold():
    # Train: best between -4 and -2, that is -3. Sums would not separate.
    train_scores = [scores([4 * s], 4) for s in (-5, -2, -1, -4)]
    train = labelled(*"0110"), train_scores
    test_scores = [
        *(scores([2 * s], 2) for s in (-3.5, -2.5)),
        *(scores([10 * s], 10) for s in (-2.9, -3.1)),
    ]
    found = COLA.measure(labelled(*"0101"), test_scores, train)
    # Of 4 pairs: -2.5 beats -3.5 and -2.9; -3.1 beats -3.5.
    expected = {"matthews": 0.0, "accuracy": 0.5, "auc": 0.75}
    assert found == expected | {"threshold": -3.0, "matthews_train": 1.0}
    assert next(iter(found)) == "matthews"
    majority = COLA.majority(labelled(*"0111"))
    assert majority == {"matthews": 0.0, "accuracy": 0.75, "auc": 0.5}
    # Of two classes, four answers and two candidates one is right.
    tasks = (COLA, 0.0, "dev"), (RACE, 0.25, "dev"), (DPRD, 0.5, "test")
    assert all((t.random, t.split) == (x, split) for t, x, split in tasks)


def test_probabilities_of_words_are_summed():
    words = (("bad", "poor"), ("good",))
    task = zero_shot.task("sst2", words)
    assert task.label_words == words
    for wrong in (("Bad",), (" ",), ("good", "good")):
        both, allowed = (words[0], wrong), zero_shot.task.__annotations__
        assert checks.fits(both, allowed["label_words"])
        with pytest.raises(ValueError, match="each word to one class"):
            zero_shot.task("sst2", both)
    unknown = zero_shot.task("sst2", (("\ub098\uc05c",), ("\uc88b\uc740",)))
    tokenizer = small_models.byte_pairs()
    with pytest.raises(errors.InputError, match="have the same tokens"):
        unknown.candidates(
            examples.Example("a"), tokenizer=tokenizer, max_sequence_length=9
        )
    found = [
        (0.2, 0.15, 0.3),  # negative, though good is the likeliest
        (0.2, 0.15, 0.4),  # positive
        (2e-30, 1e-31, 1e-30),  # negative: wrong
        (0.05, 0.3, 0.2),  # negative
    ]
    # Of the four pairs of a positive and a negative review two are in order.
    for shift in (0.0, -900.0):  # a common factor changes nothing
        assert task.measure(
            labelled(*"0110"), [scores(np.log(p) + shift) for p in found]
        ) == {"accuracy": 0.75, "positive_share": 0.25, "auc": 0.5}


def test_mean_not_sum_decides():
    # Means: -2, -1.5, -3; sums would choose 0.
    one = scores([-2.0, -6.0, -6.0], [1, 4, 2])
    rows = [
        examples.Example("", label=label, group=group)
        for label, group in ((1, "middle"), (1, "high"), (2, "high"))
    ]
    only = {"accuracy": 1.0, "accuracy_middle": 1.0}
    assert RACE.measure([rows[0]], [one]) == only
    assert RACE.measure([rows[2]], [one])["accuracy"] == 0.0
    by_group = {"accuracy_middle": 1.0, "accuracy_high": 0.5}
    found = RACE.measure([*rows, rows[0]], [one] * 4)
    assert found == {"accuracy": 0.75} | by_group
    assert RACE.majority(rows) == {"accuracy": 2 / 3} | by_group


def test_last_word():
    rows = [
        examples.Example("a", choices=(word,), label=0)
        for word in ("tom", "ann", "tom", "door")
    ]
    given = [(1 / 2, 1, True), (1 / 8, 3, True), (1 / 4, 1, False)]
    given = [scores([math.log(p)], *more) for p, *more in given]
    found = LAMBADA.measure(rows, [*given, scores([-math.log(4)], 3, True)])
    # 2^(1 + 3 + 2 + 2) over 4 words and over 8 tokens.
    expected = {"accuracy": 0.75, "perplexity": 4.0, "perplexity_token": 2.0}
    assert found == pytest.approx(expected)
    assert next(iter(found)) == "accuracy"
    assert LAMBADA.majority(rows) == {"accuracy": 0.5}


def schema(text, pronoun="it", choices=("The cup", "me"), label=0):
    return examples.Example(text, pronoun, choices, label)


def test_the_rest_is_scored():
    for text, limit, prefix, read, scored in (
        ("so [MASK] fell.", 100, "so", ["Thecup", "me"], "fell."),
        ("[MASK] fell.", 100, "\n", ["Thecup", "me"], "fell."),
        ("I saw [MASK].", 100, "Isaw", ["Thecup", "me"], "."),
        # Too long: the beginning is truncated, then the end.
        ("so [MASK] fell.", 12, "o", ["Thecup", "me"], "fell."),
        ("so [MASK] fell.", 10, "o", ["Thecup", "me"], "fel"),
        ("so [MASK] fell.", 5, "o", ["cup", "me"], "f"),
        ("so [MASK] fell.", 3, "o", ["p", "e"], "f"),
    ):
        found = candidates(DPRD, schema(text), limit)
        assert found[:2] == (prefix, [(name, scored) for name in read])


# "before|pronoun|after"; an empty pronoun is hidden.
POSSESSIVE = ["walked |his| dog.", "|Its| colour", "the book is |his|.", "she waved |her| tail.", "relate to |her| music.", "asleep at || feet.", "rid of || everlasting noise"]  # fmt: skip
OTHERS = ["because |he| fell.", "so we saw |them|.", "it|it|'s late", "he took |her| to town", "they told |her| .", "saw |her|.", "because || feared it.", "I see it through ||.", "a room with || there", "because || was here"]  # fmt: skip


def test_possessive_pronouns():
    for text in POSSESSIVE + OTHERS:
        before, pronoun, after = text.split("|")
        names = ("Ann", "the boys", "the US")
        row = schema(f"{before}[MASK]{after}", pronoun, names)
        expected = list(names)
        if text in POSSESSIVE:
            expected = ["Ann's", "the boys'", "the US'"]
        assert zero_shot.substitute(row) == (before, expected, after), text


@given(
    st.text("ab .", max_size=30),
    st.lists(st.text("cd", min_size=1, max_size=30), min_size=2, max_size=4),
    st.text("ef .", max_size=30),
    st.integers(3, 20),
)
def test_any_schema_fits(before, choices, after, limit):
    row = schema(f"{before}[MASK]{after}", "he", tuple(choices))
    _, found, _ = candidates(DPRD, row, limit)
    scored = {scored for _, scored in found}
    if after.replace(" ", ""):
        assert len(scored) == 1
        assert after.replace(" ", "").startswith(scored.pop())
    assert all(scored for _, scored in found)


@pytest.mark.needs_data
def test_released_ids(shared_file, released_files):
    tokenizer = tokenizer_lib.Tokenizer.from_files(*released_files)
    sizes = {"tokenizer": tokenizer, "max_sequence_length": 512}
    # The tokens of a schema are those of the text with the candidate in it.
    data = shared_file("data/dpr/test.c.txt").parent.parent
    shared_file("data/winograd/PDP.txt")
    counts = {}
    for name in ("dprd", "pdp"):
        task = zero_shot.task(name)
        rows = task.read(data, "test")
        counts[name] = 0
        for row in rows:
            before, choices, after = zero_shot.substitute(row)
            counts[name] += choices != list(row.choices)
            found = task.candidates(row, **sizes)
            assert [found.prefix + a + b for a, b in found.continuations] == [
                tokenizer.encode(before + text + after) for text in choices
            ]
    # By hand 9 and 14: "made [her] gasp" is wrong, and five hidden pronouns
    # follow no preposition.
    assert counts == {"dprd": 10, "pdp": 9}
    expected = sum(1 / len(row.choices) for row in rows) / len(rows)
    assert task.random == pytest.approx(expected)
