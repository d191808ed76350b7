import pytest

from gpt1_keras import errors
from tools.downloads import official_files

HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"
ROWS = ['1\t7\t8\ta "b\tc', "0\t8\t7\td\te", "1\t9\t10\tf\tg"]


def write(folder, *, train=(HEADER, *ROWS), dev_ids=("8\t7",), end="\n"):
    test = (HEADER, "1\t20\t21\th\ti", "0\t22\t23\tj\tk")
    paths = []
    for name, lines in (("a", train), ("b", test), ("c", dev_ids)):
        path = folder / f"{name}.txt"
        text = "".join(line + end for line in lines)
        path.write_bytes(text.encode("utf-8"))
        paths.append(path)
    return paths


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables(tmp_path, end):
    official_files.write_tables(*write(tmp_path, end=end), tmp_path)
    wanted = {
        "train.tsv": [HEADER, ROWS[0], ROWS[2]],
        "dev.tsv": [HEADER, ROWS[1]],
        "test.tsv": [
            "index\t#1 ID\t#2 ID\t#1 String\t#2 String",
            "0\t20\t21\th\ti",
            "1\t22\t23\tj\tk",
        ],
    }
    for name, lines in wanted.items():
        text = (tmp_path / name).read_bytes().decode("utf-8")
        assert text == "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"dev_ids": ("1\t2",)}, "0 of its pairs"),
        ({"dev_ids": ("<html>",)}, "c.txt line 1 has 1 columns, not 2"),
        ({"train": (HEADER, "1\t7")}, "a.txt line 2 has 2 columns, not 5"),
    ],
)
def test_other_files(tmp_path, changes, expected):
    with pytest.raises(errors.InputError, match=expected):
        official_files.write_tables(*write(tmp_path, **changes), tmp_path)
    assert not list(tmp_path.glob("*.tsv"))


@pytest.mark.needs_data
def test_gives_what_glue_gave(tmp_path, shared_file):
    """The official tables, put together and taken apart again."""
    official = {
        split: shared_file(f"data/glue/MRPC/{split}.tsv").read_bytes()
        for split in ("train", "dev", "test")
    }
    header, *train = official["train"].decode("utf-8").splitlines()
    dev = official["dev"].decode("utf-8").splitlines()[1:]
    test = official["test"].decode("utf-8").splitlines()[1:]
    # The order of the rows in the original is lost; that inside each is not.
    lines = {
        "a": [header, *dev[:100], *train, *dev[100:]],
        "b": [header, *("0\t" + row.split("\t", 1)[1] for row in test)],
        "c": ["\t".join(row.split("\t")[1:3]) for row in dev],
    }
    paths = []
    for name, content in lines.items():
        paths.append(tmp_path / name)
        paths[-1].write_text("\n".join(content) + "\n", encoding="utf-8")
    official_files.write_tables(*paths, tmp_path)
    for split, content in official.items():
        assert (tmp_path / f"{split}.tsv").read_bytes() == content, split
