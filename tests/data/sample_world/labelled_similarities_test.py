import re

from gpt1_keras.data.sample_world import labelled_similarities

WRAPPED = re.compile(
    r"^(Tell me, \w+: |One more question: |I have forgotten it: |"
    r"Does anybody know it\? |[A-Z]\w+, (?=\w+ ))"
)
SAVED = (
    r"(?P<by>\w+) saved (?P<who>\w+) with a boat",
    r"(?P<who>\w+) was rescued .* by (?P<by>\w+)",
    r"(?P<by>\w+) rowed .* rescued (?P<who>\w+)",
)


def core(question):
    """Return a question without what leads up to it."""
    return WRAPPED.sub("", question).lower()


def test_qqp_same_words_ask_for_the_same(drawn):
    found = drawn(labelled_similarities.qqp, 1500)
    same = [e for e in found if core(e.text) == core(e.text_pair)]
    assert len(same) > 50
    assert all(e.label == "1" for e in same)
    for e in found:
        first, second = (
            re.search(r"what colour (?:is|are) (\w+)", core(text))
            for text in (e.text, e.text_pair)
        )
        if first and second and first[1] != second[1]:
            assert e.label == "0", e
    share = sum(e.label == "1" for e in found) / len(found)
    assert 0.3 < share < 0.5


def saved(text):
    for way in SAVED:
        if match := re.search(way, text):
            return match["by"], match["who"]
    return None


def test_mrpc_and_stsb_know_who_saved_whom(drawn):
    judged = set()
    for e in drawn(labelled_similarities.mrpc, 3000):
        first, second = saved(e.text), saved(e.text_pair)
        if first and second:
            assert e.label == ("1" if first == second else "0"), e
            judged.add(e.label)
    for e in drawn(labelled_similarities.stsb, 3000):
        first, second = saved(e.text), saved(e.text_pair)
        if first and second:
            assert (e.label == 5.0) == (first == second), e
            judged.add(e.label)
    assert {"0", "1", 5.0, 3.0} <= judged


def test_stsb_scores_fall_with_what_is_shared(drawn):
    found = drawn(labelled_similarities.stsb, 3000)
    assert {e.label for e in found} == set(
        labelled_similarities.SCORES.values()
    )

    def overlap(label):
        shares = []
        for e in found:
            if e.label == label:
                one, two = (
                    set(re.findall(r"\w+", text)) - set("the a of to".split())
                    for text in (e.text, e.text_pair)
                )
                shares.append(len(one & two) / len(one | two))
        return sum(shares) / len(shares)

    assert overlap(0.0) < overlap(0.8) < overlap(3.0) < overlap(5.0)
    for e in found:
        negated = ["not" in t.split() for t in (e.text, e.text_pair)]
        if e.label == 2.4:
            assert any(negated), e
