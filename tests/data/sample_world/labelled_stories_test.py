import re

import numpy as np
from sklearn import feature_extraction
from sklearn import linear_model

from gpt1_keras.data.sample_world import labelled_stories

# The last sentence of a story, and endings that do and do not fit it.
JUDGED = (
    (r"had no bed|came to \w+ without money|sent \w+ away|turned away",
     r"took \w+ into|a bed for the night|allowed to sleep",
     r"paid |the prize|forgave"),
    (r"brought? .* (back|the)|gave the .* back|got the .* back",
     r"rewarded|received|was grateful|gave .* a ",
     r"kept the|fell ill|broke"),
    (r"won no prize|judges preferred|^\w+ lost,",
     r"Tears|head hang|sighed|was (sad|unhappy|downcast)|came home without",
     r"won the first|was (glad|happy|merry)|laughed"),
    (r"won the prize|gave \w+ the prize|prize went to",
     r"laughed|was (glad|happy|merry)|best of all",
     r"won nothing|Tears|was (sad|unhappy)"),
)  # fmt: skip


def test_stories_have_four_sentences_and_two_endings(drawn):
    for e in drawn(labelled_stories.story_cloze, 300):
        assert e.text.count("\n") == 3
        assert len(set(e.choices)) == 2
        assert e.label in (0, 1)


def test_the_right_ending_fits(drawn):
    judged = 0
    for e in drawn(labelled_stories.story_cloze, 1500):
        last = e.text.split("\n")[-1]
        right, wrong = e.choices[e.label], e.choices[1 - e.label]
        for story, fits, unfit in JUDGED:
            if re.search(story, last):
                judged += bool(re.search(fits, right))
                assert not (
                    re.search(unfit, right) and re.search(fits, wrong)
                ), e
    assert judged > 20


def test_endings_alone_tell_little(drawn):
    found = drawn(labelled_stories.story_cloze, 1500)
    texts = [text for e in found for text in e.choices]
    right = np.array([i == e.label for e in found for i in range(2)])
    counts = feature_extraction.text.CountVectorizer(ngram_range=(1, 2))
    features = counts.fit_transform(texts)
    model = linear_model.LogisticRegression(C=0.1, max_iter=500)
    model.fit(features[:2000], right[:2000])
    scores = model.decision_function(features[2000:]).reshape(-1, 2)
    labels = [e.label for e in found[1000:]]
    assert np.mean(np.argmax(scores, 1) == labels) < 0.68
