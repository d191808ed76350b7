"""RACE, from its folders of JSON files, one file per passage.

Lai et al. 2017, http://www.cs.cmu.edu/~glai1/data/race. `middle` and `high`
are exams of middle and high schools; each question has four answers.
"""

from gpt1_keras import errors
from gpt1_keras import progress
from gpt1_keras.data import examples
from gpt1_keras.data.readers import bad_rows
from gpt1_keras.data.readers import places
from gpt1_keras.data.readers import row_counts
from gpt1_keras.data.readers import rows

GROUPS = ("middle", "high")
_ANSWERS = ("A", "B", "C", "D")


def read(data_dir, split):
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
    places.check_split(split)
    folder = places.find(
        data_dir, [f"race/RACE/{split}", f"RACE/{split}", f"race/{split}"]
    )
    files = [
        (group, path)
        for group in GROUPS
        for path in sorted((folder / group).glob("*.txt"), key=_number)
    ]
    if not files:
        raise errors.InputError(
            f"{folder} has no files {GROUPS[0]}/*.txt or {GROUPS[1]}/*.txt:"
            " unpack the official RACE.tar.gz there"
        )
    bad = bad_rows.BadRows(folder)
    found, total = [], 0
    with progress.bar(f"reading RACE {split}", len(files)) as advance:
        for group, path in files:
            part, num_bad = _read_passage(path, group, bad)
            found += part
            total += len(part) + num_bad
            advance(1)
    bad.check(total)
    row_counts.check(data_dir, folder, "race", split, len(found))
    return found


def _number(path):
    # 9.txt before 10.txt.
    return len(path.stem), path.stem


def _read_passage(path, group, bad):
    """Return the examples of a file and the number of its bad questions."""
    try:
        passage = rows.parse_json(path.read_bytes())
        if isinstance(passage, bad_rows.BadRow):
            raise passage
        article = rows.text_of(passage.get("article"), "article")
        questions = _questions(passage)
    except (bad_rows.BadRow, OSError) as error:
        bad.add(path, error)
        return [], 1
    found = []
    for i, (question, options, answer) in enumerate(questions, 1):
        try:
            found.append(_parse(article, question, options, answer, group))
        except bad_rows.BadRow as error:
            bad.add(f"{path} question {i}", error)
    return found, len(questions) - len(found)


def _questions(passage):
    columns = [
        passage.get(name) for name in ("questions", "options", "answers")
    ]
    if not all(isinstance(column, list) for column in columns):
        raise bad_rows.BadRow("questions, options or answers are no list")
    if len(set(map(len, columns))) != 1:
        raise bad_rows.BadRow("questions, options and answers differ in number")
    return list(zip(*columns))


def _parse(article, question, options, answer, group):
    if not isinstance(options, list) or len(options) != len(_ANSWERS):
        raise bad_rows.BadRow(f"not {len(_ANSWERS)} options")
    return examples.Example(
        article,
        rows.text_of(question, "question"),
        tuple(rows.text_of(option, "option") for option in options),
        _ANSWERS.index(rows.label_of(answer, _ANSWERS)),
        group,
    )
