import types

import pytest

from gpt1_keras.data import examples
from gpt1_keras.runs import probing

SCORING = probing.Scoring(
    batch_size=4, bucket_lengths=(8,), softmax_chunk=8, num_examples=2
)


def make(*names, first_step=1, split=None):
    read = []

    def data(probe, wanted):
        read.append((probe.name, wanted))
        return [examples.Example(str(i)) for i in range(5)]

    probes = [
        types.SimpleNamespace(name=n, split="dev", needs_train=n == "cola")
        for n in names
    ]
    made = probing.Probing(
        probes=probes,
        data=types.SimpleNamespace(read=data),
        split=split,
        scoring=SCORING,
        first_step=first_step,
    )
    return made, read


@pytest.mark.parametrize(
    "first_step, num_steps, expected",
    [
        (1, 10, {1, 2, 4, 8, 10}),
        (64, 300, {64, 128, 256, 300}),
        (64, 64, {64}),
        (64, 10, {10}),
    ],
)
def test_steps(first_step, num_steps, expected):
    made, _ = make("sst2", first_step=first_step)
    assert made.steps(num_steps) == expected


def test_without_probes_there_are_no_steps():
    made, _ = make()
    assert made.steps(100) == set()


def test_files_are_read_once_and_cut():
    made, read = make("sst2", "cola")
    made.read()
    assert read == [("sst2", "dev"), ("cola", "dev"), ("cola", "train")]
    assert [e.text for e in made.examples(made.probes[0], "dev")] == ["0", "1"]
    assert len(read) == 3


def test_a_split_for_all():
    made, read = make("sst2", split="test")
    made.read()
    assert read == [("sst2", "test")]
