"""Against scikit-learn called directly, and shares of words by hand."""

import random
import types

import pytest
from sklearn import linear_model
from sklearn import pipeline
from sklearn.feature_extraction import text

from gpt1_keras.data.examples import Example
from gpt1_keras.evaluation import word_baselines
from gpt1_keras.tasks import benchmarks

WORDS = "a good bad fine dull film plot is not very".split()
# |A and B| over |A or B|, |A| and |B|.
PAIRS = {
    ("The cat sat", "the cat"): [2 / 3, 2 / 3, 1],
    ("so", "So it is"): [1 / 3, 1, 1 / 3],
    ("a dog", "the cat"): [0, 0, 0],
    ("a b c d", "b d, e"): [2 / 5, 2 / 4, 2 / 3],
    ("", "it"): [0, 0, 0],
}


def predictions(space, train, dev):
    """Return {baseline: what it predicts}."""
    task = types.SimpleNamespace(
        label_space=space, measure=lambda _, found: {"found": found.tolist()}
    )
    found = word_baselines.measure(task, train, dev)
    assert all(0 <= each["seconds"] < 60 for each in found.values())
    return {name: pytest.approx(each["found"]) for name, each in found.items()}


@pytest.mark.parametrize(
    "task, labels, pair, model",
    [
        ("sst2", "01", "", linear_model.LogisticRegression(C=10)),
        ("stsb", [0.5, 4, 2.25], "a plot", linear_model.Ridge()),
    ],
)
def test_bag_of_words(task, labels, pair, model):
    draws = random.Random(0)
    rows = [
        Example(" ".join(draws.choices(WORDS, k=4)), pair, label=label)
        for label in draws.choices(labels, k=240)
    ]
    space = benchmarks.benchmark(task).label_space
    found = predictions(space, rows[:40], rows[40:])
    vectors = text.TfidfVectorizer(ngram_range=(1, 2))
    expected = pipeline.make_pipeline(vectors, model)
    texts = [f"{row.text} {pair}" for row in rows]
    expected.fit(texts[:40], list(map(space.value, rows[:40])))
    assert found["words"] == expected.predict(texts[40:]).tolist()
    assert ("overlap" in found) == bool(pair)


@pytest.mark.parametrize(
    "task, labels, model",
    [
        ("stsb", [5, 2, 0.5, 3, 0], linear_model.Ridge()),
        ("mrpc", "11000", linear_model.LogisticRegression()),
    ],
)
def test_word_overlap_of_pairs(task, labels, model):
    rows = [Example(*p, label=label) for p, label in zip(PAIRS, labels)]
    shares = list(PAIRS.values())
    expected = model.fit(shares, list(map(float, labels))).predict(shares)
    space = benchmarks.benchmark(task).label_space
    assert predictions(space, rows, rows)["overlap"] == expected.tolist()


def test_one_class_is_predicted_always_and_without_words_nothing():
    space = benchmarks.benchmark("sst2").label_space
    good, bad, letter = (Example(x, label="1") for x in ("good", "bad", "a b"))
    assert predictions(space, [good, good], [good, bad]) == {"words": [1, 1]}
    assert predictions(space, [letter], [letter]) == {}
