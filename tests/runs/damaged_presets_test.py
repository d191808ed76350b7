"""Presets damaged in every way, loaded by every kind of run.

With checksums any damage is refused. Without, as in presets of others, what
would compute something else is refused where it can be seen.
"""

import contextlib
import io
import shutil

import h5py
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.runs import demo
from tests.reference import tiny_runs
from tests.reference.data_files import put
from tests.reference.data_files import rewrite
from tests.reference.data_files import rewrite_json
from tests.reference.data_files import set_json
from tools import convert_huggingface

VOCABULARY = "assets/tokenizer/vocabulary.json"
MERGES = "assets/tokenizer/merges.txt"
WEIGHTS = "model.weights.h5"
PREPROCESSOR = ("config", "preprocessor", "config")


def convert(preset, workdir):
    """Call the tool; raise what it prints."""
    arguments = ["--preset", str(preset), "--output", str(workdir / "theirs")]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        if convert_huggingface.main(arguments) == 2:
            raise errors.InputError(said.getvalue().strip())


# Runs that take a fine-tuned model, then those that take a language model.
TASK_RUNS = {
    "evaluate": lambda p, w, data: tiny_runs.run("evaluate", p, w, data),
    "export": lambda p, w, data: tiny_runs.run("export", p, w, data),
    "demo": lambda p, w, data: demo.TaskAnswers(p),
}
RUNS = {
    "generate": lambda p, w, data: tiny_runs.generate(p),
    "zero_shot": lambda p, w, data: tiny_runs.run("zero_shot/cola", p, w, data),
    "perplexity": lambda p, w, data: tiny_runs.perplexity(p, data / "x.txt"),
    "view": lambda p, w, data: tiny_runs.run("view", p, w, TEXT="the tree"),
    "finetune": lambda p, w, data: tiny_runs.finetune(w, p, data),
    "convert": lambda p, w, data: convert(p, w),
}


def matrices(weights):
    names = []
    weights.visit(names.append)
    return [name for name in names if getattr(weights[name], "ndim", 0) == 2]


def weigh(value):
    """A damage: a value in the first matrix."""

    def damage(preset):
        with h5py.File(preset / WEIGHTS, "r+") as weights:
            weights[matrices(weights)[0]][0, 0] = value

    return damage


def cut(pieces):
    return dict(list(pieces.items())[: len(pieces) // 2])


def other_weights(preset):
    """The weights of a narrower network."""
    with h5py.File(preset / WEIGHTS, "r+") as weights:
        for name in matrices(weights):
            value = weights[name][:, :8]
            del weights[name]
            weights[name] = value


def link(preset):
    """Weights in another file: that of any reader's machine."""
    place = [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]
    with h5py.File(preset / WEIGHTS, "r+") as weights:
        name = matrices(weights)[0]
        shape = weights[name].shape
        del weights[name]
        weights.create_dataset(name, shape, "f4", external=place)


# Damages of presets with checksums; the others are of presets without.
SEALED = ("weights flipped", "a file lost")
# Of what is damaged -> (damage, what is said).
DAMAGES = {
    "vocabulary cut": (rewrite_json(VOCABULARY, cut), "tokens, the network "),
    "vocabulary emptied": (put(VOCABULARY, b"{}"), "a vocabulary of 0 pieces"),
    "merges emptied": (put(MERGES, b""), "merges of .* tokens are missing"),
    "merges torn": (rewrite(MERGES, lambda x: x + b"a"), "expected two pieces"),
    "weights of one byte": (put(WEIGHTS, b"x"), "cannot be read"),
    "weights elsewhere": (link, "0 variables"),
    "no weights": (lambda p: (p / WEIGHTS).unlink(), WEIGHTS),
    "weights flipped": (weigh(1e-9), f"{WEIGHTS}: checksum mismatch"),
    "a file lost": (lambda p: (p / MERGES).unlink(), f"{MERGES}: No such file"),
    "weights infinite": (weigh(np.inf), "is not finite"),
    "weights of another network": (other_weights, "weight shapes differ"),
    "config torn": (put("config.json", b'{"config"'), "line 1|describe"),
    "positions below zero": (
        set_json("config.json", "config", "max_sequence_length", to=-1),
        "weight shapes differ",
    ),
    "wider in one file": (
        set_json("config.json", "config", "intermediate_dim", to=99),
        "json differ in the network",
    ),
    "no length": (
        set_json("task.json", *PREPROCESSOR, "sequence_length", to=-1),
        "sequence_length -1 in task.json",
    ),
    "length of all": (
        set_json("preprocessor.json", "config", "sequence_length", to=10**6),
        "sequence_length 1000000 in preprocessor.json",
    ),
}
TASK_DAMAGES = {
    "no head": (lambda p: (p / "task.weights.h5").unlink(), "task.weights.h5"),
    "torn": (put("task.json", b"{}"), "describes no model .*: give another"),
    "odd transform": (
        set_json("task.json", *PREPROCESSOR, "transform", to="pad"),
        "no transform 'pad'",
    ),
    "labels are a score": (
        set_json("task.json", *PREPROCESSOR, "score_range", to=[0, 5]),
        "the head has 2 outputs, the task 6",
    ),
}
CASES = [
    *((name, *case, "pretrained", RUNS) for name, case in DAMAGES.items()),
    *(
        (name, *case, "cola/preset", TASK_RUNS)
        for name, case in (DAMAGES | TASK_DAMAGES).items()
    ),
]


def test_damaged_presets_are_refused_in_one_line(tiny, tmp_path, cache):
    (tiny.data / "x.txt").write_text("the old captain walked under a tree")
    damaged, workdir = tmp_path / "preset", tmp_path / "work"
    for name, damage, expected, whole, runs in CASES:
        shutil.copytree(tiny.folder / whole, damaged)
        damage(damaged)
        if name not in SEALED:
            (damaged / files.CHECKSUMS).unlink()
        for run, function in runs.items():
            with pytest.raises(errors.InputError, match=expected) as caught:
                function(damaged, workdir / run, tiny.data)
                pytest.fail(f"{run} takes a preset with {name}")
            message = str(caught.value)
            assert "\n" not in message and str(damaged) in message, (run, name)
            assert not list(workdir.rglob("result.json")), (run, name)
        print(f"{name}: {message.replace(str(tmp_path), '')}")
        shutil.rmtree(damaged)


def test_checksums_that_are_damaged_or_missing(tiny, tmp_path, caplog):
    damaged = tmp_path / "preset"
    shutil.copytree(tiny.folder / "pretrained", damaged)
    path = damaged / files.CHECKSUMS
    text = path.read_text()
    for content in ("", "{}", "[]", text[:-9], '{"files": 3}', "[" * 99999):
        path.write_text(content)
        with pytest.raises(errors.InputError, match="checksums.json is damag"):
            tiny_runs.generate(damaged)
    path.unlink()
    assert tiny_runs.generate(damaged) == tiny_runs.generate(damaged)
    assert caplog.text.count("has no checksums") == 1
