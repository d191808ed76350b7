import collections
import re

from gpt1_keras.sample_world import pair_examples


def overlap(e):
    first, second = (
        set(re.findall(r"\w+", text.lower())) for text in (e.text, e.text_pair)
    )
    return len(first & second) / len(first | second)


def by_label(found):
    groups = collections.defaultdict(list)
    for e in found:
        groups[e.label].append(overlap(e))
    return {label: sum(v) / len(v) for label, v in groups.items()}


def test_entailment(drawn):
    for make in (pair_examples.snli, pair_examples.mnli):
        found = drawn(make, 150)
        counts = collections.Counter(e.label for e in found)
        assert len(counts) == 3 and max(counts.values()) < 75
        means = by_label(found)
        assert means["neutral"] < min(
            means["entailment"], means["contradiction"]
        )
    found = drawn(pair_examples.rte, 100)
    assert 30 < sum(e.label == "entailment" for e in found) < 70
    (e,) = drawn(pair_examples.mnli_mismatched, 1)
    assert "wrote" in e.text and e.group == "mismatched"


def test_the_answer_tells_the_label(drawn):
    found = drawn(pair_examples.qnli, 100)
    assert 30 < sum(e.label == "entailment" for e in found) < 70
    means = by_label(found)
    assert means["entailment"] > means["not_entailment"]
    found = drawn(pair_examples.scitail, 100)
    assert 30 < sum(e.label == "entails" for e in found) < 70
    means = by_label(found)
    assert means["entails"] > means["neutral"]


def test_similarity(drawn):
    means = by_label(drawn(pair_examples.stsb, 300))
    assert set(means) == set(pair_examples.SCORES.values())
    assert means[0.0] < means[1.6] < means[5.0]
    for make, share in ((pair_examples.mrpc, 0.65), (pair_examples.qqp, 0.4)):
        found = drawn(make, 200)
        assert abs(sum(e.label == "1" for e in found) / 200 - share) < 0.15
        means = by_label(found)
        assert means["1"] > means["0"]
