import re

import pytest

from gpt1_keras.data.sample_world import labelled_facts


@pytest.mark.parametrize(
    ("text", "value", "wrong", "expected"),
    [
        ("Her hair is red.", "red", "fair", "Her hair is fair."),
        ("Red hair is rare.", "blue", "fair", ""),
        ("A tart.", "tart", "apple pie", "An apple pie."),
        ("In the attic.", "in the attic", "on the roof", ""),
    ],
)
def test_another_value(text, value, wrong, expected):
    assert labelled_facts.with_value(text, value, wrong) == expected


# Ways to say one fact: the person, then the value.
LIKES = (
    r"(\w+)'s favourite food is ([\w ]+)\.",
    r"(\w+) likes ([\w ]+) better than",
    r"(\w+) loves ([\w ]+) above all",
)
FEARS = (
    r"(\w+) is afraid of ([\w ]+)\.",
    r"(\w+) fears ([\w ]+) more than",
    r"(\w+)'s great fear is ([\w ]+)\.",
)


def test_scitail_follows_from_the_facts(drawn):
    found = drawn(labelled_facts.scitail, 2000)
    seen = {"entails": 0, "neutral": 0}
    for e in found:
        for ways in (LIKES, FEARS):
            stated = [m for way in ways for m in re.findall(way, e.text)]
            claimed = [m for way in ways for m in re.findall(way, e.text_pair)]
            people = [person for person, _ in stated]
            if claimed and claimed[0][0] in people:
                label = "entails" if claimed[0] in stated else "neutral"
                assert e.label == label, e
                seen[label] += 1
    assert min(seen.values()) > 20
    labels = [e.label for e in found]
    assert 0.45 < labels.count("entails") / 2000 < 0.55


def test_qnli_sentences_answer_or_not(drawn):
    found = drawn(labelled_facts.qnli, 2000)
    seen = set()
    for e in found:
        if match := re.match(r"What is (\w+) afraid of\?", e.text):
            told = any(
                person == match[1]
                for way in (*FEARS, r"the one thing that (\w+) (fear)s")
                for person, _ in re.findall(way, e.text_pair, re.IGNORECASE)
            )
            assert e.label == ("entailment" if told else "not_entailment"), e
            seen.add(e.label)
        if match := re.match(r"Who mended the (\w+)\?", e.text):
            told = re.search(
                rf"(mended|repaired) .*{match[1]}|{match[1]} was mended",
                e.text_pair,
            )
            assert e.label == ("entailment" if told else "not_entailment"), e
            seen.add(e.label)
    assert seen == {"entailment", "not_entailment"}
