import collections
import functools
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.runs import sources
from gpt1_keras.runs import zero_shot
from gpt1_keras.sample_world import benchmark_files
from gpt1_keras.tasks import zero_shot as zero_shot_lib
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


def scoring(num_examples):
    return zero_shot.Scoring(
        batch_size=4,
        bucket_lengths=(8,),
        softmax_chunk=8,
        num_examples=num_examples,
    )


def make(*names, first_step=1, split=None, num_examples=2, num_rows=5):
    """Return probes of rows, the first half middle, the second high."""
    read = []

    def data(probe, wanted):
        read.append((probe.name, wanted))
        groups = ["middle"] * (num_rows // 2) + ["high"] * num_rows
        return [
            examples.Example(str(i), group=groups[i]) for i in range(num_rows)
        ]

    probes = [
        types.SimpleNamespace(name=n, split="dev", needs_train=n == "cola")
        for n in names
    ]
    made = zero_shot.ZeroShotTasks(
        probes=probes,
        data=types.SimpleNamespace(read=data),
        split=split,
        scoring=scoring(num_examples),
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


@pytest.mark.parametrize("first_step", [0, -2, 1.5, None])
def test_wrong_first_step(first_step):
    """It was doubled for ever."""
    with pytest.raises(errors.InputError, match="^`first_step` is"):
        make("sst2", first_step=first_step)


def test_without_probes_there_are_no_steps():
    made, _ = make()
    assert made.steps(100) == set()


def test_files_are_read_once():
    made, read = make("sst2", "cola")
    made.read()
    assert read == [("sst2", "dev"), ("cola", "dev"), ("cola", "train")]
    made.examples(made.probes[0], "dev")
    assert len(read) == 3


def test_examples_of_every_split_are_drawn_in_the_order_of_the_file():
    """RACE's readers give all middle questions first, CoLA's its sources."""
    made, _ = make("cola", num_examples=40, num_rows=400)
    for split in ("dev", "train"):
        found = made.examples(made.probes[0], split)
        groups = collections.Counter(e.group for e in found)
        assert len(found) == 40 and min(groups["middle"], groups["high"]) > 5
        rows = [int(e.text) for e in found]
        assert rows == sorted(set(rows))
    again, _ = make("cola", num_examples=40, num_rows=400)
    assert again.examples(again.probes[0], "train") == found


def test_both_groups_of_race(tmp_path):
    rows = [
        examples.Example(f"It is {i}.", "What?", tuple("abcd"), 0, group)
        for group in ("middle", "high")
        for i in range(40)
    ]
    for name, text in benchmark_files.race({"dev": rows}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    made = zero_shot.ZeroShotTasks(
        probes=zero_shot_lib.tasks(["race"]),
        data=sources.BenchmarkFiles(
            data_dir=tmp_path, sample_examples=1, sample_seed=0
        ),
        split=None,
        scoring=scoring(20),
    )
    found = made.examples(made.probes[0], "dev")
    assert [e.group for e in found] == sorted(
        (e.group for e in found), reverse=True
    )
    assert {e.group for e in found} == {"middle", "high"}


@pytest.mark.parametrize("count, expected", [(None, 5), (3, 3), (9, 5)])
def test_as_many_as_there_are(count, expected):
    made, _ = make("sst2", num_examples=count)
    assert len(made.examples(made.probes[0], "dev")) == expected


@pytest.mark.parametrize("count", [0, -5])
def test_less_than_one_example(count):
    with pytest.raises(errors.InputError, match=f"is {count}: give a whole"):
        make("sst2", num_examples=count)


def test_a_split_for_all():
    made, read = make("sst2", split="test")
    made.read()
    assert read == [("sst2", "test")]


def test_what_is_cut_is_said(monkeypatch, caplog):
    made, _ = make("sst2", num_examples=None)

    def candidates(example, *, tokenizer, max_sequence_length):
        num_cut = max(0, int(example.text) - max_sequence_length)
        return packing.Candidates([1], (packing.Continuation([2]),), num_cut)

    made.probes[0].candidates = candidates
    monkeypatch.setattr(zero_shot, "_Scorer", lambda *_, **__: None)
    for positions in (2, 4):
        backbone = types.SimpleNamespace(max_sequence_length=positions)
        made.measurer(made.probes[0], backbone, tokenizer=None)
    assert [record.getMessage() for record in caplog.records] == [
        "sst2 dev: the beginnings of 2 of 5 texts were truncated to 2 "
        "positions, by 3 tokens in all"
    ]


@pytest.mark.slow
@pytest.mark.backends
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_scores_do_not_depend_on_the_backend(scores_on, backend):
    pytest.importorskip(backend)
    expected = scores_on("tensorflow")
    found = scores_on(backend)
    assert found.keys() == expected.keys() > {"threshold", "auc"}
    sizes = tiny_task.SIZES
    for split in ("train", "dev"):
        each = expected[f"{split}_log_probability"]
        assert each.shape == (sizes[split],) and each.std() > 1
    for name in expected:
        np.testing.assert_allclose(
            found[name], expected[name], rtol=0, atol=1e-4, err_msg=name
        )


@pytest.fixture(scope="module")
def scores_on(tmp_path_factory):
    """Return a function: backend -> what `probe_on_backend` writes there."""
    folder = tmp_path_factory.mktemp("backends")
    data = tiny_task.write_cola(folder / "data")
    preset = tiny_task.write_preset(folder / "preset")

    @functools.cache
    def scores(backend):
        path = folder / f"{backend}.npz"
        module = "tests.reference.probe_on_backend"
        subprocess.run(
            [sys.executable, "-m", module, *map(str, (preset, data, path))],
            env=os.environ | {"KERAS_BACKEND": backend},
            cwd=tiny_fine_tuned.ROOT,
            check=True,
        )
        return dict(np.load(path))

    return scores
