"""Questions with answers to choose from: RACE and the Story Cloze Test.

- RACE (Lai et al. 2017), https://www.cs.cmu.edu/~glai1/data/race: one JSON
  file for each passage, in the folders `middle` and `high` of a split.
- Story Cloze Test of spring 2016 (Mostafazadeh et al. 2016),
  https://cs.rochester.edu/nlp/rocstories: two `.csv` files. As in the released
  code (datasets.py, lines 10-33), the test file is `test`, and the validation
  file is split into `train` and `dev`: 1,497 and 374 of its 1,871 stories.
"""

from sklearn import model_selection

from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

_RACE_ANSWERS = ("A", "B", "C", "D")
_VALIDATION_FILE = "cloze_test_val__spring2016 - cloze_test_ALL_val.csv"
_TEST_FILE = "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"
_SENTENCES = tuple(f"InputSentence{i}" for i in range(1, 5))
_ENDINGS = ("RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2")
_CLOZE_ANSWERS = ("1", "2")


def read_race(data_dir, split):
    """Read a split from `DATA_DIR/race/RACE` or `DATA_DIR/RACE`.

    Returns a list of Example, one for each question: text is the passage,
    text_pair the question, label the index of the right choice, group
    "middle" or "high". First middle, then high, each by the passage's number.
    """
    folder = rows.find_file(data_dir, ["race/RACE", "RACE", "race"], split)
    files = []
    for group in ("middle", "high"):
        found = (folder / group).glob("[!.]*.txt")
        # 9.txt before 10.txt.
        files += sorted(found, key=lambda path: (len(path.stem), path.stem))
    if not files:
        raise errors.InputError(
            f"{folder} has no files middle/*.txt or high/*.txt: unpack the"
            " official RACE.tar.gz there"
        )
    questions = _questions(files, f"reading RACE {split}")
    return rows.collect(folder, questions, lambda row: _race_example(*row))


def _questions(files, description):
    """Yield (place, arguments of `_race_example` or a `BadRow`)."""
    with console.bar(description, len(files)) as advance:
        for path in files:
            try:
                for i, question in enumerate(_read_passage(path), 1):
                    yield f"{path} question {i}", question
            except rows.BadRow as error:
                yield str(path), error
            advance(1)


def _read_passage(path):
    """Return the arguments of `_race_example` of each question."""
    passage = rows.parse_json(path.read_bytes())
    columns = [passage.get(n) for n in ("questions", "options", "answers")]
    are_lists = all(isinstance(column, list) for column in columns)
    if not are_lists or len(set(map(len, columns))) != 1:
        raise rows.BadRow(
            "questions, options and answers are not lists of the same length"
        )
    article = rows.text_of(passage.get("article"), "article")
    group = path.parent.name
    return [(article, *question, group) for question in zip(*columns)]


def _race_example(article, question, options, answer, group):
    if not isinstance(options, list) or len(options) != len(_RACE_ANSWERS):
        raise rows.BadRow(f"not {len(_RACE_ANSWERS)} options")
    return examples.Example(
        article,
        rows.text_of(question, "question"),
        tuple(rows.text_of(option, "option") for option in options),
        _RACE_ANSWERS.index(rows.label_of(answer, _RACE_ANSWERS)),
        group,
    )


def read_story_cloze(data_dir, split):
    """Read a split from `DATA_DIR/story_cloze`.

    Returns a list of Example: text is the story on one line, choices the two
    endings, label the index of the right one.
    """
    file = _TEST_FILE if split == "test" else _VALIDATION_FILE
    path = rows.find_file(data_dir, ["story_cloze", ""], file)
    _, found = rows.named(path, rows.comma_separated(path))
    stories = rows.collect(path, found, _cloze_example)
    if split == "test":
        return stories
    # As released: 374 of 1,871 stories (or the same share), and the seed below.
    num_dev = max(1, round(len(stories) * 374 / 1871))
    if num_dev >= len(stories):
        raise errors.InputError(
            f"{path} has only {len(stories)} story, too few to split into"
            " train and dev: use the official file"
        )
    train, dev = model_selection.train_test_split(
        stories, test_size=num_dev, random_state=3535999445
    )
    return train if split == "train" else dev


def _cloze_example(row):
    texts = [rows.text_of(row.get(n), n) for n in (*_SENTENCES, *_ENDINGS)]
    answer = rows.label_of(row.get("AnswerRightEnding"), _CLOZE_ANSWERS)
    return examples.Example(
        " ".join(texts[:4]),
        choices=tuple(texts[4:]),
        label=_CLOZE_ANSWERS.index(answer),
    )
