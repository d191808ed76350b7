"""How many rows the official files have, and a warning where others lie."""

import pathlib

from absl import logging

from gpt1_keras.data.readers import places

# A folder with this file holds generated sample data of any size.
SAMPLE_MARK = "sample_benchmarks.json"

# Examples as the readers return them; 0: there is no such split. SNLI without
# the rows that have no gold label, Story Cloze after the paper's split of its
# validation file. Releases differ by a row or two: QQP's train.tsv has three
# rows with an empty question and some twenty broken lines.
# fmt: off
OFFICIAL = {
    #                     train      dev     test
    "snli":            (549_367,   9_842,   9_824),
    "mnli":            (392_702,       0,       0),
    "mnli matched":          (0,   9_815,   9_796),
    "mnli mismatched":       (0,   9_832,   9_847),
    "qnli":            (104_743,   5_463,   5_463),
    "rte":               (2_490,     277,   3_000),
    "scitail":          (23_596,   1_304,   2_126),
    "race":             (87_866,   4_887,   4_934),
    "story_cloze":       (1_497,     374,   1_871),
    "mrpc":              (3_668,     408,   1_725),
    "qqp":             (363_846,  40_430, 390_965),
    "stsb":              (5_749,   1_500,   1_379),
    "sst2":             (67_349,     872,   1_821),
    "cola":              (8_551,   1_043,   1_063),
    "wnli":                (635,      71,     146),
    "ax":                    (0,       0,   1_104),
    # The zero-shot probes' own.
    "dprd":              (1_322,       0,     564),
    "pdp":                   (0,       0,      60),
    "wsc":                   (0,       0,     273),
    "lambada":               (0,   4_869,   5_153),
}
# fmt: on


def official(name, split):
    """Return the number of examples in a split, 0 if there is none."""
    return OFFICIAL[name][places.SPLITS.index(split)]


def check(data_dir, path, name, split, count):
    """Warn if `count` is not the official one; sample data has its own.

    Args:
        data_dir: path of DATA_DIR.
        path: path of the file or folder that was read.
        name: str, key of `OFFICIAL`.
        split: str.
        count: int. Examples that were read.
    """
    expected = official(name, split)
    if count == expected or pathlib.Path(data_dir, SAMPLE_MARK).exists():
        return
    logging.warning(
        "%s: %d examples, the official %s %s has %d",
        *(path, count, name, split, expected),
    )
