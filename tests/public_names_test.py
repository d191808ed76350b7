import functools

import pytest

from gpt1_keras import bindings
from gpt1_keras import config
from gpt1_keras import errors
from gpt1_keras import public_names
from tests.reference.processes import ROOT


def test_older_names_become_todays():
    """Those of which tests/configs has none."""
    for old, new in {
        "train/recipe.FineTuning.seed": "train/finetune.FineTuning.seed",
        "export.export.tolerance": "export.Agreement.tolerance",
    }.items():
        found = bindings.read_text(f"{old} = 3\n").parameters
        assert public_names.current(old) == next(iter(found)) == new


def test_tables_name_parameters_that_there_are():
    names = [
        *(new for new in public_names.RENAMED.values() if new.count(".") > 1),
        *public_names.ADDED,
        *public_names._OTHER_DIALS,
    ]
    functions = {
        *(new for new in public_names.RENAMED.values() if new.count(".") < 2),
        *public_names.ADDED.values(),
    }
    assert functions <= public_names.PUBLIC.keys()
    assert not public_names.RENAMED.keys() & public_names.PUBLIC.keys()
    for name in names:
        function, _, parameter = name.rpartition(".")
        found = public_names.parameters(public_names.find(function))
        assert parameter in found, name
    known = set()
    for name in public_names.PUBLIC:
        known |= public_names.parameters(public_names.find(name)).keys()
    assert known.issuperset(public_names._FORMER_DIALS)


def test_configs_of_earlier_versions_still_resolve():
    for path in ROOT.glob("tests/configs/*.gin"):
        found = config.resolve([str(path)], [], "out/x")
        old = bindings.read_text(path.read_text(encoding="utf-8"))
        assert bindings.differences(old, found) == [], path
        again = bindings.read_text(found.text())
        assert again == found
        assert again.sha256() == found.sha256()


def test_former_dials_still_work_with_set(tmp_path):
    """The same command resumes a run that an earlier version started."""
    names = ("fit.Intervals.log_steps", "held_out.Evaluation.batch_size")
    (tmp_path / "x.gin").write_text("include 'gin/pretrain.gin'\nLOG_STEPS = 9")
    resolve = functools.partial(config.resolve, [str(tmp_path / "x.gin")])
    former = resolve(["LOG_STEPS = 3", "EVALUATION_BATCH_SIZE = 5"])
    now = resolve([f"{names[0]} = 3", f"{names[1]} = 5"])  # overrides the file
    assert former.sha256() == now.sha256()
    for name in names:
        assert former.values_of(name) == now.values_of(name)
    for setting, expected in {
        "LOG_STEPS = 0": "LOG_STEPS is 0: give a whole number",
        "TASK = 'cola'": "this run has no setting TASK",
        "PROBES = ('cola',)": "gin/zero_shot/while_pretraining.gin",
    }.items():
        with pytest.raises(errors.InputError) as caught:
            resolve([setting])
        assert expected in str(caught.value)
