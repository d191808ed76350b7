import collections
import re

import numpy as np
import pytest
from sklearn import feature_extraction
from sklearn import linear_model

from gpt1_keras.data.sample_world import labelled_entailments

DENIED = re.compile(
    "not true|mistaken|Nobody could say|error|nothing of the kind|a lie"
)
# What a premise says, what a hypothesis says of the same person, the label,
# and the label where the premise denies it. Judged by hand.
SAME, OPPOSITE, OPEN = "entailment", "contradiction", "neutral"
JUDGED = (
    (r"NAME (lost|left) .* (by|in|on|at|beside|near) ",
     r"NAME still had .* pocket", OPPOSITE, None),
    (r"NAME (lost|left) .* (by|in|on|at|beside|near) ",
     r"NAME no longer had", SAME, OPEN),
    (r"NAME fell ill|NAME had to stay in bed",
     r"NAME was in the best of health", OPPOSITE, None),
    (r"NAME fell ill|NAME had to stay in bed",
     r"NAME did not (fall ill|have to stay)", OPPOSITE, SAME),
    (r"NAME turned back|NAME dared not|NAME was too fright",
     r"NAME did not go on", SAME, OPEN),
    (r"NAME was in the best of health",
     r"NAME fell ill|NAME had to stay in bed", OPPOSITE, None),
    (r"NAME was not well", r"NAME (fell ill|had to stay in bed)",
     OPEN, OPPOSITE),
    (r"NAME travelled|NAME went on a journey|NAME set out",
     r"NAME stayed at home", OPPOSITE, None),
    (r"NAME travelled|NAME went on a journey|NAME set out",
     r"NAME did not (travel|go on a|set out)", OPPOSITE, SAME),
    (r"NAME paid the", r"NAME was free of debt", SAME, OPEN),
    (r"NAME paid the", r"NAME could not pay", OPPOSITE, None),
    (r"NAME could not pay", r"NAME paid the", OPPOSITE, None),
    (r"NAME was in danger", r"NAME was trapped", OPEN, OPPOSITE),
)  # fmt: skip


@pytest.fixture(scope="module")
def snli(drawn):
    return drawn(labelled_entailments.snli, 4000)


def test_labels_are_those_a_reader_gives(snli):
    judged = collections.Counter()
    for e in snli:
        name = e.text_pair.split(" ")[0]
        denied = bool(DENIED.search(e.text))
        for row, (premise, hypothesis, label, if_denied) in enumerate(JUDGED):
            expected = if_denied if denied else label
            if (
                expected
                and re.search(premise.replace("NAME", name), e.text)
                and re.match(hypothesis.replace("NAME", name), e.text_pair)
            ):
                assert e.label == expected, e
                judged[row] += 1
    assert sum(judged.values()) >= 30 and len(judged) >= 9, judged


def accuracy(texts, labels):
    half = len(texts) // 2
    counts = feature_extraction.text.CountVectorizer()
    features = counts.fit_transform(texts)
    model = linear_model.LogisticRegression(C=0.1, max_iter=500)
    model.fit(features[:half], labels[:half])
    return model.score(features[half:], labels[half:])


def test_a_bag_of_words_is_near_chance(snli):
    labels = np.array([e.label for e in snli])
    for name in set(labels):
        assert 0.29 < np.mean(labels == name) < 0.38
    assert accuracy([e.text_pair for e in snli], labels) < 0.5
    assert accuracy([f"{e.text} {e.text_pair}" for e in snli], labels) < 0.55


def test_genres_of_mnli(drawn):
    matched = drawn(labelled_entailments.mnli, 200)
    mismatched = drawn(labelled_entailments.mnli_mismatched, 200)
    assert {e.group for e in matched} == {"matched"}
    assert {e.group for e in mismatched} == {"mismatched"}
    letters = [e for e in mismatched if " wrote to " in e.text]
    rumours = [e for e in mismatched if e.text.startswith('"')]
    assert len(letters) > 50 and len(rumours) > 50
    assert len(letters) + len(rumours) == 200
    assert not [e for e in matched if "Dear" in e.text or e.text[0] == '"']
    in_first_person = [
        e for e in letters if re.search(r"\b(I|me|my|myself)\b", e.text[20:])
    ]
    assert len(in_first_person) > 0.7 * len(letters)


def test_rte_passages_hold_several_events(drawn):
    found = drawn(labelled_entailments.rte, 500)
    assert {e.label for e in found} == {"entailment", "not_entailment"}
    several = [e for e in found if e.text.count(".") >= 2]
    assert len(several) > 400
    # What is said of people whom the passage lacks does not follow from it.
    strange = 0
    for e in found:
        people = set(re.findall(r"(?<=[\w,] )[A-Z]\w{4,}", e.text_pair))
        if people - set(re.findall(r"\w+", e.text)):
            assert e.label == "not_entailment", e
            strange += 1
    assert strange > 20
