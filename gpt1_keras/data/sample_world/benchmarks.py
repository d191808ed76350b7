"""Write sample files of the twelve benchmarks, in the official formats.

Their labels follow from the sample world, and a model pretrained on the
corpus of the same seed has read about the same people.
"""

import pathlib

from gpt1_keras import errors
from gpt1_keras.data.sample_world import benchmark_files
from gpt1_keras.data.sample_world import generated_folder
from gpt1_keras.data.sample_world import labelled_entailments as entailments
from gpt1_keras.data.sample_world import labelled_facts as facts
from gpt1_keras.data.sample_world import labelled_last_words as last_words
from gpt1_keras.data.sample_world import labelled_passages as passages
from gpt1_keras.data.sample_world import labelled_pronouns as pronouns
from gpt1_keras.data.sample_world import labelled_sentences as sentences
from gpt1_keras.data.sample_world import labelled_similarities as similarities
from gpt1_keras.data.sample_world import labelled_stories as stories
from gpt1_keras.data.sample_world import probe_files
from gpt1_keras.data.sample_world import situations

MANIFEST = "sample_benchmarks.json"
# Draws in a row that may bring nothing new before we give up.
_MOST_VAIN_DRAWS = 20_000

source_sha256 = generated_folder.source_sha256


def write_benchmarks(directory, *, num_train, num_dev, num_test, seed=0):
    """Write the files of all benchmarks below a folder.

    The same arguments give the same bytes everywhere, no example stands in
    two splits, and the folder appears whole or not at all. Where it already
    holds these very files, nothing is written. Beside the twelve there are
    GLUE's WNLI and diagnostic files and those of the zero-shot probes:
    Definite Pronoun Resolution, Winograd schemas, PDP and LAMBADA.

    Args:
        directory: folder that does not exist yet, is empty, or holds these
            files.
        num_train, num_dev, num_test: int. Examples of each benchmark: for
            RACE questions, half of them about middle passages; for MultiNLI
            so many matched and as many mismatched ones. Story Cloze has
            train and dev in one file, as the official one.
        seed: int, the seed of the corpus about the same people.

    Raises:
        errors.InputError: the folder holds something else, or a number is
            too small or larger than the world's variety.
    """
    numbers = {"train": num_train, "dev": num_dev, "test": num_test}
    for split, number in numbers.items():
        if number < 2:
            raise errors.InputError(
                f"{number} {split} examples of the sample benchmarks are too "
                f"few: ask for 2 or more"
            )
    generated_folder.write_once(
        pathlib.Path(directory),
        lambda folder: _write(folder, numbers, seed),
        settings={"seed": seed, **{f"num_{k}": v for k, v in numbers.items()}},
        manifest=MANIFEST,
        kind="sample of the benchmarks",
        listed="files",
    )


def _write(folder, numbers, seed):
    names = []
    for make_files, divide in _BENCHMARKS:
        source = _Source(seed, make_files.__name__)
        for name, text in make_files(divide(source.take, numbers)).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            names.append(name)
    return names


class _Source:
    """Examples of one benchmark, none of them twice."""

    def __init__(self, seed, name):
        self._situations = situations.build(seed, name)
        self._name = name
        self._seen = set()

    def take(self, make, count):
        """Return a list of `count` new examples.

        `make`: function from Situations to a list of Example, empty where
        what was drawn does not suit.
        """
        found, vain = [], 0
        while len(found) < count:
            size = len(found)
            for example in make(self._situations):
                texts = frozenset((example.text, example.text_pair))
                key = texts, frozenset(example.choices)
                if key not in self._seen:
                    self._seen.add(key)
                    found.append(example)
            vain = vain + 1 if len(found) == size else 0
            if vain > _MOST_VAIN_DRAWS:
                raise errors.InputError(
                    f"the sample world gives no more than {len(self._seen)} "
                    f"examples of {self._name}: ask for fewer"
                )
        return found[:count]


def _three(make):
    """Return the division into train, dev and test."""

    def divide(take, numbers):
        return {split: take(make, number) for split, number in numbers.items()}

    return divide


def _matched_and_mismatched(take, numbers):
    parts = {"train": take(entailments.mnli, numbers["train"])}
    for split in ("dev", "test"):
        number = numbers[split]
        parts[f"{split}_matched"] = take(entailments.mnli, number)
        parts[f"{split}_mismatched"] = take(entailments.mnli_mismatched, number)
    return parts


def _middle_and_high(take, numbers):
    return {
        split: take(passages.race_middle, number // 2)
        + take(passages.race_high, number - number // 2)
        for split, number in numbers.items()
    }


def _dev_and_test(make):
    return lambda take, numbers: {
        split: take(make, numbers[split]) for split in ("dev", "test")
    }


def _validation_and_test(take, numbers):
    make = stories.story_cloze
    return {
        "val": take(make, numbers["train"] + numbers["dev"]),
        "test": take(make, numbers["test"]),
    }


def _test_only(make):
    return lambda take, numbers: {"test": take(make, numbers["test"])}


_BENCHMARKS = (
    (benchmark_files.cola, _three(sentences.cola)),
    (benchmark_files.sst2, _three(sentences.sst2)),
    (benchmark_files.mrpc, _three(similarities.mrpc)),
    (benchmark_files.stsb, _three(similarities.stsb)),
    (benchmark_files.qqp, _three(similarities.qqp)),
    (benchmark_files.mnli, _matched_and_mismatched),
    (benchmark_files.qnli, _three(facts.qnli)),
    (benchmark_files.rte, _three(entailments.rte)),
    (benchmark_files.wnli, _three(pronouns.wnli)),
    (benchmark_files.diagnostic, _test_only(entailments.mnli)),
    (benchmark_files.snli, _three(entailments.snli)),
    (benchmark_files.scitail, _three(facts.scitail)),
    (benchmark_files.race, _middle_and_high),
    (benchmark_files.story_cloze, _validation_and_test),
    (probe_files.dpr, _three(pronouns.dpr)),
    (probe_files.wsc, _test_only(pronouns.dpr)),
    (probe_files.pdp, _test_only(pronouns.dpr)),
    (probe_files.lambada, _dev_and_test(last_words.last_word)),
)
