import logging
import pathlib
import pickle
import random
import signal
import sys
import warnings
from concurrent import futures

import keras
import numpy as np
import pytest
from sklearn import base
from sklearn import exceptions
from sklearn import model_selection

from gpt1_keras import TextClassifier
from gpt1_keras import errors
from gpt1_keras import text_classifier
from gpt1_keras import workdir as workdirs
from gpt1_keras.runs import presets
from gpt1_keras.serving import verify
from tests.reference import processes
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs
from tests.reference import tiny_task

draws = random.Random(0)
ROWS = sorted({tiny_task.sentence(draws) for _ in range(80)})[:40]
TEXTS = [text for text, _ in ROWS]
LABELS = [9 + int(name) for _, name in ROWS]
SETTINGS = {
    "fit.Intervals.checkpoint_steps": 1000,
    "finetune.FineTuning.early_evaluation_steps": (),
}


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return tiny_task.write_preset(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def classifier(preset):
    sizes = {"num_epochs": 16, "batch_size": 4, "learning_rate": 1e-2}
    return TextClassifier(
        preset=preset, random_state=1, settings=SETTINGS, **sizes
    )


@pytest.fixture(scope="module")
def fitted(classifier):
    return base.clone(classifier).fit(TEXTS, LABELS)


def dropout(directory):
    return presets.read_config(presets.find(directory))["residual_dropout"]


def test_its_import_prints_nothing():
    done = processes.python("-c", "from gpt1_keras import TextClassifier")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_learns_and_keeps_labels(fitted):
    assert fitted.classes_.tolist() == [9, 10]  # As text, "10" comes first.
    assert fitted.score(TEXTS, LABELS) > 0.8
    assert dropout(fitted.directory_) == 0.05  # of single texts
    probabilities = fitted.predict_proba(TEXTS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
    assert fitted.predict_proba([]).shape == (0, 2)
    with pytest.raises(errors.InputError, match="single texts"):
        fitted.predict([("the gate", "a tree")])
    assert "words" in fitted.result_["baselines"]
    kept, _ = workdirs.read(fitted.directory_)
    names = ("NUM_EPOCHS", "BATCH_SIZE", "PEAK_LEARNING_RATE", "SEED")
    assert [kept.macros[name] for name in names] == [16, 4, 1e-2, 1]


def test_stored_models_answer_the_same(fitted, tmp_path, monkeypatch):
    expected = fitted.predict_proba(TEXTS[:4])
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(TEXTS[:4]), expected)
    monkeypatch.setattr(verify, "answers", tiny_runs.answers)
    copy.export(tmp_path / "served")
    assert (tmp_path / "served" / "saved_model" / "1").is_dir()
    fitted.save(tmp_path / "saved")
    loaded = TextClassifier.load(tmp_path / "saved")
    assert loaded.classes_.tolist() == ["10", "9"]
    found = loaded.predict_proba(TEXTS[:4])[:, ::-1]
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(errors.InputError, match="saved/preset exists"):
        fitted.save(tmp_path / "saved")
    for write in (fitted.save, fitted.export, TextClassifier.load):
        for folder, message in (("", "is empty"), (3, "cannot be used as a")):
            with pytest.raises(errors.InputError, match=message):
                write(folder)


def test_is_a_scikit_learn_estimator(classifier):
    model = base.clone(classifier).set_params(num_epochs=1)
    split = model_selection.ShuffleSplit(n_splits=1, random_state=0)
    # Its settings belong to the dict `settings`.
    grid = {"settings": [SETTINGS | {"DROPOUT": 0.1}]}
    search = model_selection.GridSearchCV(model, grid, cv=split, refit=False)
    assert 0 <= search.fit(TEXTS, LABELS).best_score_ <= 1
    with pytest.raises(exceptions.NotFittedError):
        model.predict(TEXTS)


def test_the_process_is_left_as_it_was(fitted, classifier, monkeypatch, capsys):
    before, states = sys.stderr, (random.getstate(), np.random.get_state()[1])
    skipping = base.clone(classifier).set_params(
        num_epochs=1, settings=SETTINGS | {"BAD_ROWS": "skip"}
    )
    skipping.fit([*TEXTS, "a lonely gate"], [*LABELS, 11])
    assert skipping.classes_.tolist() == [9, 10]  # The lonely class is lost.
    shown = capsys.readouterr().err  # of all log lines, the warnings
    assert "skipping 1 of 41 rows" in shown and "finished" not in shown
    assert random.getstate() == states[0]
    assert np.array_equal(np.random.get_state()[1], states[1])
    expected = fitted.predict_proba(TEXTS[:3])
    with warnings.catch_warnings(action="error"):
        with text_classifier._contained(verbose=False):
            keras.distribution.set_distribution("that of a run")
            warnings.warn("of a library", DeprecationWarning)
    assert keras.distribution.distribution() is None
    with futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(fitted.predict_proba, 8 * [TEXTS[:3]]):
            np.testing.assert_array_equal(found, expected)
    assert sys.stderr is before
    with (
        monkeypatch.context() as forked,
        pytest.raises(ValueError, match="fork"),
    ):
        forked.setitem(text_classifier._first_user, "process", -1)
        fitted.predict(TEXTS)

    def stopped(examples):
        raise errors.Stopped("stopped", "SIGINT")

    # A search over settings must not take it for a failed fit.
    monkeypatch.setattr(fitted._loaded(), "logits", stopped)
    # Behind a shell's `&`, Python ignores it.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        fitted.predict(TEXTS)
    signal.signal(signal.SIGINT, former)


def test_pairs_and_a_workdir(classifier, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = base.clone(classifier)
    model.set_params(num_epochs=1, workdir="run", verbose=True)
    model.settings = SETTINGS | {"DTYPE": "mixed_bfloat16"}
    pairs = [(text, "the old gate") for text in TEXTS]
    names = [f"{label}.5" for label in LABELS]  # classes, not scores
    loggers = logging.root, logging.getLogger("absl")
    before = [(each.level, each.handlers[:]) for each in loggers]
    first = model.fit(pairs, names).result_
    # The next one may not be verbose.
    assert [(each.level, each.handlers) for each in loggers] == before
    assert dropout(model.directory_) == dropout(model.preset) != 0.05
    assert keras.config.dtype_policy().name == "float32"
    assert model.classes_.tolist() == ["10.5", "9.5"]
    assert set(model.predict(pairs[:2])) <= {"10.5", "9.5"}
    # A finished run is not repeated, and other rows do not replace it.
    assert base.clone(model).fit(pairs, names).result_ == first
    with pytest.raises(errors.InputError, match="has other texts or labels"):
        model.fit(pairs, names[::-1])
    loaded = TextClassifier.load("run")
    monkeypatch.chdir("/")
    for number, each in enumerate((model, loaded)):
        each.save(tmp_path / f"saved_{number}")


def test_a_benchmark_of_pairs(preset, tmp_path):
    tiny_fine_tuned.write(tmp_path / "mrpc", "mrpc", preset)
    model = TextClassifier.load(tmp_path / "mrpc")
    assert model.predict([("the gate", "a tree")])[0] in ("0", "1")
    with pytest.raises(errors.InputError, match="pairs of texts"):
        model.predict(["the gate"])


ROWS_REFUSED = [
    ("one text", [1], "X is str"),
    (["a", ("b", "c")], [0, 1], r"X\[1\] is \('b', 'c'\)"),
    (["a", np.nan], [0, 1], r"X\[1\] is nan"),
    (["a", "b"], [0], "1 labels"),
    (["a", "b"], [0.5, 1.5], "float"),
    (["a", "b"], [0, "1"], "int, str"),
    (["a", "b"], [1, 1], "y has 1 different labels"),
    ([], [], "y has 0 different labels"),
    (["a", "b"], None, "y is None"),
    (["a", "b"], ["x ", "y"], "'x ' begins or ends"),
    (["a\ud800", "b"], [0, 1], "is not a character"),
]
ARGUMENTS_REFUSED = [
    ({"settings": "DROPOUT = 0.2"}, "give a dict such as"),
    ({"settings": {"TRAIN_FILE": "x"}}, "without RUN, TRAIN_FILE"),
    ({"settings": {"custom.custom.family": "similarity"}}, "without RUN"),
    ({"num_epochs": 0}, "^`num_epochs` is 0: give a whole number"),
    ({"learning_rate": np.nan}, "^`learning_rate`: Failed to parse"),
    ({"files": "gin/nothing.gin"}, "gin/nothing.gin: no such file"),
    ({"files": [3]}, "`files` is .3.: give a path in quotes or a tuple"),
    ({"files": pathlib.Path("nothing.gin")}, "nothing.gin: no such file"),
    ({"workdir": __file__}, "cannot create or write this folder"),
    ({"workdir": 5}, "`workdir` 5 cannot be used as a path"),
]


def test_mistakes_are_one_line(classifier):
    given = [(texts, labels, {}, said) for texts, labels, said in ROWS_REFUSED]
    given += [(TEXTS, LABELS, *wrong) for wrong in ARGUMENTS_REFUSED]
    for texts, labels, arguments, message in given:
        model = base.clone(classifier).set_params(**arguments)
        with pytest.raises(errors.InputError, match=message) as caught:
            model.fit(texts, labels)
        assert "\n" not in str(caught.value)


def test_the_rows_do_not_stay_in_the_workdir_of_another_run(
    classifier, tmp_path
):
    (tmp_path / "config.gin").write_text("RUN = @view.view\n")
    model = base.clone(classifier).set_params(workdir=tmp_path)
    with pytest.raises(errors.InputError, match="another configuration"):
        model.fit(TEXTS, LABELS)
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["config.gin"]


def test_bad_rows_are_shown_though_nothing_else_is(
    classifier, tmp_path, capsys
):
    model = base.clone(classifier).set_params(workdir=tmp_path)
    for labels in ([9, 10], [9, 9]):  # The workdir is free for other rows.
        with pytest.raises(errors.InputError, match=r"^X\[40\]: 'text' is em"):
            model.fit(TEXTS + ["", " "], LABELS + labels)
    shown = capsys.readouterr().err
    # Shown at once, not again with the log after the error.
    assert shown.count("42  'text' is empty") == 2
