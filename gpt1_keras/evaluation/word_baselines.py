"""Baselines without a network: bag of words and word overlap.

Each is a logistic regression of scikit-learn (for scores, ridge regression) on
these features:

    words    TF-IDF of words and pairs of adjacent words; since these are
             small numbers, with a tenth of the default regularisation
    overlap  words that two texts have in common, as shares of both and each
"""

import re
import time

import numpy as np


def measure(task, train, dev):
    """Return the metrics of the baselines on dev.

    The `Task` must not be multiple choice; `train` and `dev` are lists of
    Example. Returns {"words", "overlap": dict of the task's metrics and
    `seconds`}, the former if the texts have words, the latter for pairs.
    """
    baselines, found = {}, {}
    # What scikit-learn counts as a word.
    if any(re.search(r"\b\w\w+\b", text) for text in _texts(train)):
        baselines["words"] = (_words, 10)
    if dev[0].text_pair:
        baselines["overlap"] = (_overlap, 1)
    for name, (features, c) in baselines.items():
        started = time.monotonic()
        predictions = _fit(task, *features(train, dev), train, c)
        metrics = task.measure(dev, predictions)
        found[name] = metrics | {"seconds": time.monotonic() - started}
    return found


def _texts(examples):
    return [f"{example.text} {example.text_pair}" for example in examples]


def _words(train, dev):
    from sklearn.feature_extraction import text

    vectors = text.TfidfVectorizer(ngram_range=(1, 2))
    return vectors.fit_transform(_texts(train)), vectors.transform(_texts(dev))


def _overlap(train, dev):
    """Return |A and B| over |A or B|, |A| and |B| of two sets of words."""
    features = []
    for example in (*train, *dev):
        texts = example.text.lower(), example.text_pair.lower()
        a, b = (set(re.findall(r"\w+", text)) for text in texts)
        features.append([len(a & b) / max(1, len(x)) for x in (a | b, a, b)])
    return np.split(np.array(features), [len(train)])


def _fit(task, features, dev_features, train, c):
    from sklearn import linear_model

    labels = [task.label_space.value(example) for example in train]
    if len(set(labels)) == 1:  # Logistic regression refuses a single class.
        return np.full(dev_features.shape[0], labels[0])
    if task.label_space.score_range:
        model = linear_model.Ridge()
    else:
        model = linear_model.LogisticRegression(C=c, max_iter=1000)
    return model.fit(features, labels).predict(dev_features)
