import re

from gpt1_keras.data.sample_world import labelled_sentences
from gpt1_keras.data.sample_world import library

# Faults that a reader of English sees, and that no sound sentence has.
FAULTS = re.compile(
    r"\b(eyes|They) (is|was|has)\b|(hair|food|fear|house|pet) (are|were|stand)\b"
    r"|did not (lost|found|gave|went|took|asked|helped|mended|won|had)\b"
    r"|had (lose|find|give|take|steal|forgive|ask|help|mend|win|make)\b"
    r"|\b(the|a|an|his|her) (the|a|an)\b|\b(by|in|on|of|with|for) \w+ the\b"
    r"|\bthe (by|in|on|of|with|for|from)\b|\b[Hh]im \w+ (is|was)"
    r"|\bshe (own|favourite|greatest|dearest)\b"
)


def test_cola_marks_the_faults(drawn):
    found = drawn(labelled_sentences.cola, 3000)
    whole = [e.text for e in found if e.label == "1"]
    broken = [e.text for e in found if e.label == "0"]
    assert 0.55 < len(whole) / 3000 < 0.65
    wrongly = [text for text in whole if FAULTS.search(text)]
    seen = [text for text in broken if FAULTS.search(text)]
    assert len(seen) > 0.1 * len(broken)
    assert len(wrongly) < 0.02 * len(seen), wrongly
    assert not set(whole) & set(broken)


def test_sst2_says_what_its_words_say(drawn):
    found = drawn(labelled_sentences.sst2, 2000)
    good, bad = library.words("good"), library.words("bad")
    judged = 0
    for e in found:
        words = set(re.findall(r"[\w-]+", e.text))
        praise, blame = words & set(good), words & set(bad)
        if bool(praise) == bool(blame) or {"nobody", "never"} & words:
            continue
        if "Nobody" in words or "was" not in words or "feeling" in words:
            continue
        judged += 1
        assert e.label == ("1" if praise else "0"), e
    assert judged > 200


def test_order_alone_decides_some_of_sst2(drawn):
    found = drawn(labelled_sentences.sst2, 2000)
    pattern = re.compile(r"We had expected an? (.+?) .*, but it was (\w+)")
    labels = {}
    for e in found:
        if match := pattern.match(e.text):
            labels[match[2]] = e.label
            first = "0" if match[1] in library.words("good") else "1"
            assert e.label == first, e
    for word, label in labels.items():
        assert word in library.words("good" if label == "1" else "bad")
    assert set(labels.values()) == {"0", "1"}
