"""Write sample files of the twelve benchmarks, in the official formats.

Their labels follow from the sample world; a model pretrained on the corpus of
the same seed has read about the same people.
"""

import functools

from gpt1_keras import errors
from gpt1_keras.sample_world import benchmark_files
from gpt1_keras.sample_world import draws as draws_module
from gpt1_keras.sample_world import generated_folder
from gpt1_keras.sample_world import pair_examples as pairs
from gpt1_keras.sample_world import sentence_examples
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import stories
from gpt1_keras.sample_world import story_examples
from gpt1_keras.sample_world import world

MANIFEST = "sample_benchmarks.json"
# As many worlds as a corpus of the default size describes.
NUM_WORLDS = 7
# Consecutive draws without a new example before giving up.
_MOST_VAIN_DRAWS = 20_000


class Source:
    """Material of labelled examples, drawn without repetition."""

    def __init__(self, seed, name):
        self.draws = draws_module.Draws("benchmark", seed, name)
        self.teller = sentences.Teller(self.draws, by_name=True)
        self._seed = seed
        self._name = name
        self._seen = set()

    def take(self, make, count):
        """Return `count` new examples.

        `make` is a function from a Source to a list of Example, which is
        empty if what it drew is unsuitable.
        """
        found, vain = [], 0
        while len(found) < count:
            size = len(found)
            for example in make(self):
                texts = frozenset((example.text, example.text_pair))
                key = texts, frozenset(example.choices)
                if key not in self._seen:
                    self._seen.add(key)
                    found.append(example)
            vain = vain + 1 if len(found) == size else 0
            if vain > _MOST_VAIN_DRAWS:
                raise errors.InputError(
                    f"the sample world has only {len(self._seen)} different "
                    f"examples of {self._name}: ask for fewer"
                )
        return found[:count]

    def world(self):
        """Return a World."""
        return world.build_world(self._seed, self.draws.below(NUM_WORLDS))

    def story(self):
        """Return a Story."""
        return self._cast(self.world(), stories.plots(), ())

    def other(self, story):
        """Return a Story without this one's events, with the same people if
        possible."""
        plots = [p for p in stories.plots() if not p.kinds & story.plot.kinds]
        return self._cast(story.world, plots, story.people)

    def again(self, story):
        """Return a Story of the same plot, with the same people in other roles
        if possible."""
        return self._cast(story.world, [story.plot], story.people)

    def _cast(self, here, plots, people):
        found = None
        while found is None:
            found = stories.cast_story(
                self.draws.pick(plots),
                here,
                self.draws.pick(here.towns),
                self.draws,
                people,
            )
        return found

    def outsider(self, story, person):
        """Return a similar Person who is not in the story, or None."""
        found = [
            other
            for other in story.world.people
            if other not in story.roles.values()
            and (other.gender, other.age) == (person.gender, person.age)
            and other.traits.keys()
            >= person.traits.keys() & {"trade", "pet_kind"}
        ]
        return self.draws.pick(found) if found else None

    def say(self, template, roles, tense=sentences.PAST):
        """Return the template as a finished sentence."""
        return self.teller.sentence(template, roles, tense)


def write_benchmarks(directory, *, num_train, num_dev, num_test, seed=0):
    """Write the files of all benchmarks below a folder.

    The same arguments give the same bytes everywhere, and no example is in
    two splits. Besides the twelve benchmarks, the folder gets GLUE's WNLI and
    diagnostic files and those of the zero-shot tasks: Definite Pronoun
    Resolution, Winograd schemas, PDP and LAMBADA. A number that is too small,
    or more than the world can provide, raises InputError.

    Args:
        directory: see `generated_folder.write_once`.
        num_train, num_dev, num_test: int. Examples of each benchmark: for
            RACE, questions, half of them about middle-school passages; for
            MultiNLI, this many matched and as many mismatched ones. Story
            Cloze has train and dev in one file, as officially.
        seed: int, the seed of the corpus about the same people.
    """
    numbers = {"train": num_train, "dev": num_dev, "test": num_test}
    for split, number in numbers.items():
        if number < 2:
            raise errors.InputError(
                f"{number} {split} examples of the sample benchmarks are too "
                f"few: ask for 2 or more"
            )
    generated_folder.write_once(
        directory,
        lambda folder: _write(folder, numbers, seed),
        settings={"seed": seed, **{f"num_{k}": v for k, v in numbers.items()}},
        manifest=MANIFEST,
    )


def _write(folder, numbers, seed):
    names = []
    for benchmark, make_files, divide in _BENCHMARKS:
        source = Source(seed, benchmark)
        for name, text in make_files(divide(source.take, numbers)).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            names.append(name)
    return names


def _splits(make, *names):
    """Return a function that draws the named splits, by default all."""

    def divide(take, numbers):
        return {split: take(make, numbers[split]) for split in names or numbers}

    return divide


def _matched_and_mismatched(take, numbers):
    parts = {"train": take(pairs.mnli, numbers["train"])}
    for split in ("dev", "test"):
        number = numbers[split]
        parts[f"{split}_matched"] = take(pairs.mnli, number)
        parts[f"{split}_mismatched"] = take(pairs.mnli_mismatched, number)
    return parts


def _middle_and_high(take, numbers):
    return {
        split: take(story_examples.race_middle, number // 2)
        + take(story_examples.race_high, number - number // 2)
        for split, number in numbers.items()
    }


def _validation_and_test(take, numbers):
    make = story_examples.story_cloze
    return {
        "val": take(make, numbers["train"] + numbers["dev"]),
        "test": take(make, numbers["test"]),
    }


def _glue(folder):
    return functools.partial(benchmark_files.glue, folder)


# Name, function that makes the files, and how examples are divided.
_BENCHMARKS = (
    ("cola", _glue("CoLA"), _splits(sentence_examples.cola)),
    ("sst2", _glue("SST-2"), _splits(sentence_examples.sst2)),
    ("mrpc", _glue("MRPC"), _splits(pairs.mrpc)),
    ("stsb", _glue("STS-B"), _splits(pairs.stsb)),
    ("qqp", _glue("QQP"), _splits(pairs.qqp)),
    ("mnli", _glue("MNLI"), _matched_and_mismatched),
    ("qnli", _glue("QNLI"), _splits(pairs.qnli)),
    ("rte", _glue("RTE"), _splits(pairs.rte)),
    ("wnli", _glue("WNLI"), _splits(story_examples.wnli)),
    ("ax", benchmark_files.diagnostic, _splits(pairs.mnli, "test")),
    ("snli", benchmark_files.snli, _splits(pairs.snli)),
    ("scitail", benchmark_files.scitail, _splits(pairs.scitail)),
    ("race", benchmark_files.race, _middle_and_high),
    ("story_cloze", benchmark_files.story_cloze, _validation_and_test),
    ("dpr", benchmark_files.dpr, _splits(story_examples.dpr)),
    ("wsc", benchmark_files.wsc, _splits(story_examples.dpr, "test")),
    ("pdp", benchmark_files.pdp, _splits(story_examples.dpr, "test")),
    (
        "lambada",
        benchmark_files.lambada,
        _splits(story_examples.last_word, "dev", "test"),
    ),
)
