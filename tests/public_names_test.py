from gpt1_keras import bindings
from gpt1_keras import config
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


def test_configs_of_earlier_versions_still_resolve():
    for path in ROOT.glob("tests/configs/*.gin"):
        found = config.resolve([str(path)], [], "out/x")
        old = bindings.read_text(path.read_text(encoding="utf-8"))
        assert bindings.differences(old, found) == [], path
        # What an object holds now counts only where the object is bound.
        name = "strategy.Devices.jit_compile"
        assert (name in old.parameters) <= (name in found.parameters), path
        again = bindings.read_text(found.text())
        assert again == found
        assert again.sha256() == found.sha256()
