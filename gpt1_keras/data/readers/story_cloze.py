"""The Story Cloze Test of spring 2016, from its two `.csv` files.

Mostafazadeh et al. 2016, https://cs.rochester.edu/nlp/rocstories. Four
sentences and two endings. As in the released code (datasets.py, lines 10-33)
the test file is `test`, and the validation file is split into `train` and
`dev`: 1,497 and 374 of its 1,871 stories.
"""

from sklearn import model_selection

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import places
from gpt1_keras.data.readers import row_counts
from gpt1_keras.data.readers import rows

VALIDATION_FILE = "cloze_test_val__spring2016 - cloze_test_ALL_val.csv"
TEST_FILE = "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"

_SENTENCES = tuple(f"InputSentence{i}" for i in range(1, 5))
_ENDINGS = ("RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2")
_ANSWER = "AnswerRightEnding"
_ANSWERS = ("1", "2")
_SEED = 3535999445
_NUM_STORIES, _NUM_DEV = 1871, 374


def read(data_dir, split):
    """Read a split from `DATA_DIR/story_cloze`.

    Args:
        data_dir: path of DATA_DIR.
        split: `train`, `dev` or `test`.

    Returns:
        list of Example: text is the story, its sentences joined by a space,
        choices the two endings, label the index of the right one.

    Raises:
        InputError: the file is missing, or too many rows are broken.
    """
    places.check_split(split)
    file = TEST_FILE if split == "test" else VALIDATION_FILE
    path = places.find(data_dir, [f"story_cloze/{file}", file])
    found = rows.collect(
        path,
        rows.select(
            path,
            rows.comma_separated(path),
            (*_SENTENCES, *_ENDINGS, _ANSWER),
        ),
        _parse,
    )
    if split != "test":
        train, dev = _divide(path, found)
        found = train if split == "train" else dev
    row_counts.check(data_dir, path, "story_cloze", split, len(found))
    return found


def _parse(row):
    texts = [
        rows.text_of(text, name)
        for text, name in zip(row, (*_SENTENCES, *_ENDINGS))
    ]
    return examples.Example(
        " ".join(texts[:4]),
        choices=tuple(texts[4:]),
        label=_ANSWERS.index(rows.label_of(row[-1].strip(), _ANSWERS)),
    )


def _divide(path, stories):
    """Return (train, dev), dev with 374 of 1,871 stories or that share."""
    num_dev = max(1, round(len(stories) * _NUM_DEV / _NUM_STORIES))
    if num_dev >= len(stories):
        raise errors.InputError(
            f"{path} has {len(stories)} story, too few to split into train"
            " and dev: take the official file"
        )
    return model_selection.train_test_split(
        stories, test_size=num_dev, random_state=_SEED
    )
