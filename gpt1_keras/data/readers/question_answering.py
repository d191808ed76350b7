"""The Story Cloze Test of spring 2016, from its two `.csv` files.

Mostafazadeh et al. 2016, https://cs.rochester.edu/nlp/rocstories. Four
sentences and two endings. As in the released code (datasets.py, lines 10-33)
the test file is `test`, and the validation file is split into `train` and
`dev`: 1,497 and 374 of its 1,871 stories.
"""

from sklearn import model_selection

from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

# -----------------------------------------------------------------------------
# RACE, from its folders of JSON files, one file per passage.

RACE_GROUPS = ("middle", "high")
_ANSWERS = ("A", "B", "C", "D")


def read_race(data_dir, split):
    """Read a split from `DATA_DIR/race/RACE` or `DATA_DIR/RACE`.

    Args:
        data_dir: path of DATA_DIR.
        split: `train`, `dev` or `test`.

    Returns:
        list of Example, one per question: text is the passage, text_pair the
        question, label the index of the right choice, group `middle` or
        `high`. First middle, then high, each by the number of the passage.

    Raises:
        InputError: the folder is missing, or too many questions are broken.
    """
    rows.check_split(split)
    folder = rows.find_file(
        data_dir, [f"race/RACE/{split}", f"RACE/{split}", f"race/{split}"]
    )
    files = [
        (group, path)
        for group in RACE_GROUPS
        for path in sorted((folder / group).glob("*.txt"), key=_number)
    ]
    if not files:
        raise errors.InputError(
            f"{folder} has no files {RACE_GROUPS[0]}/*.txt or"
            f" {RACE_GROUPS[1]}/*.txt:"
            " unpack the official RACE.tar.gz there"
        )
    bad = rows.BadRows(folder)
    found, total = [], 0
    with console.bar(f"reading RACE {split}", len(files)) as advance:
        for group, path in files:
            part, num_bad = _read_passage(path, group, bad)
            found += part
            total += len(part) + num_bad
            advance(1)
    bad.check(total)
    rows.check_row_count(data_dir, folder, "race", split, len(found))
    return found


def _number(path):
    # 9.txt before 10.txt.
    return len(path.stem), path.stem


def _read_passage(path, group, bad):
    """Return the examples of a file and the number of its bad questions."""
    try:
        passage = rows.parse_json(path.read_bytes())
        if isinstance(passage, rows.BadRow):
            raise passage
        article = rows.text_of(passage.get("article"), "article")
        questions = _questions(passage)
    except (rows.BadRow, OSError) as error:
        bad.add(path, error)
        return [], 1
    found = []
    for i, (question, options, answer) in enumerate(questions, 1):
        try:
            found.append(_parse(article, question, options, answer, group))
        except rows.BadRow as error:
            bad.add(f"{path} question {i}", error)
    return found, len(questions) - len(found)


def _questions(passage):
    columns = [
        passage.get(name) for name in ("questions", "options", "answers")
    ]
    if not all(isinstance(column, list) for column in columns):
        raise rows.BadRow("questions, options or answers are no list")
    if len(set(map(len, columns))) != 1:
        raise rows.BadRow("questions, options and answers differ in number")
    return list(zip(*columns))


def _parse(article, question, options, answer, group):
    if not isinstance(options, list) or len(options) != len(_ANSWERS):
        raise rows.BadRow(f"not {len(_ANSWERS)} options")
    return examples.Example(
        article,
        rows.text_of(question, "question"),
        tuple(rows.text_of(option, "option") for option in options),
        _ANSWERS.index(rows.label_of(answer, _ANSWERS)),
        group,
    )


# -----------------------------------------------------------------------------
# The Story Cloze Test of spring 2016, from its two `.csv` files.

VALIDATION_FILE = "cloze_test_val__spring2016 - cloze_test_ALL_val.csv"
TEST_FILE = "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"

_SENTENCES = tuple(f"InputSentence{i}" for i in range(1, 5))
_ENDINGS = ("RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2")
_ANSWER = "AnswerRightEnding"
_ANSWERS_STORY_CLOZE = ("1", "2")
_SEED = 3535999445
_NUM_STORIES, _NUM_DEV = 1871, 374


def read_story_cloze(data_dir, split):
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
    rows.check_split(split)
    file = TEST_FILE if split == "test" else VALIDATION_FILE
    path = rows.find_file(data_dir, [f"story_cloze/{file}", file])
    found = rows.collect(
        path,
        rows.select(
            path,
            rows.comma_separated(path),
            (*_SENTENCES, *_ENDINGS, _ANSWER),
        ),
        _parse_of_story_cloze,
    )
    if split != "test":
        train, dev = _divide(path, found)
        found = train if split == "train" else dev
    rows.check_row_count(data_dir, path, "story_cloze", split, len(found))
    return found


def _parse_of_story_cloze(row):
    texts = [
        rows.text_of(text, name)
        for text, name in zip(row, (*_SENTENCES, *_ENDINGS))
    ]
    return examples.Example(
        " ".join(texts[:4]),
        choices=tuple(texts[4:]),
        label=_ANSWERS_STORY_CLOZE.index(
            rows.label_of(row[-1].strip(), _ANSWERS_STORY_CLOZE)
        ),
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
