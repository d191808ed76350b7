import hypothesis
import pytest
from hypothesis import strategies

from gpt1_keras import config
from gpt1_keras import errors

TEXT = """\
from __gin__ import dynamic_registration
from gpt1_keras.runs import pretrain

RUN = @pretrain.pretrain
SEED = 0
PEAK = 2.5e-4
RATES = [%PEAK, 1e-5]
WORKDIR = 'out/x'
UNUSED = 5

pretrain.pretrain.seed = %SEED
pretrain.pretrain.rates = %RATES
pretrain.pretrain.workdir = %WORKDIR
pretrain.pretrain.build = @models.build()
train/pretrain.pretrain.names = {'a': (1, True), 'b': None}
"""


def changed(old, new):
    assert old in TEXT
    return config.read_bindings(TEXT.replace(old, new))


def test_read_keeps_macros_and_references_as_symbols():
    found = config.read_bindings(TEXT)
    assert found.macros["RATES"] == [config.Macro("PEAK"), 1e-5]
    assert found.macros["RUN"] == config.Reference("pretrain.pretrain", False)
    assert found.parameters == {
        "pretrain.pretrain.seed": config.Macro("SEED"),
        "pretrain.pretrain.rates": config.Macro("RATES"),
        "pretrain.pretrain.workdir": config.Macro("WORKDIR"),
        "pretrain.pretrain.build": config.Reference("models.build", True),
        "train/pretrain.pretrain.names": {"a": (1, True), "b": None},
    }


def test_used_macros_follow_macros():
    found = config.read_bindings(TEXT)
    assert found.used_macros() == {"SEED", "RATES", "PEAK", "WORKDIR"}
    assert "RUN" in found.used_macros("RUN")


def test_macro_defined_by_itself():
    found = config.read_bindings("A = [%B]\nB = %A\npretrain.x = %A\n")
    with pytest.raises(errors.InputError, match="defined by itself"):
        found.used_macros()


@pytest.mark.parametrize(
    "old, new",
    [
        ("SEED = 0", "SEED = 1"),
        ("PEAK = 2.5e-4", "PEAK = 2.6e-4"),
        ("@models.build()", "@models.build"),
        ("@models.build()", "'models.build()'"),
        ("'b': None", "'b': 0"),
        ("(1, True)", "(1, 1)"),
        ("RUN = @pretrain.pretrain", "RUN = @pretrain.prepare"),
        ("train/pretrain", "pretrain"),
    ],
)
def test_hash_changes_with_the_recipe(old, new):
    other = changed(old, new)
    assert other.sha256() != config.read_bindings(TEXT).sha256()
    assert config.differences(config.read_bindings(TEXT), other)


@pytest.mark.parametrize(
    "old, new",
    [
        ("'out/x'", "'out/y'"),
        ("UNUSED = 5", "UNUSED = 6"),
        ("= %SEED", "= 0"),
        ("SEED = 0", "SEED = 0.0"),
        ("'a': (1, True), 'b': None", "'b': None, 'a': (1, True)"),
        ("workdir = %WORKDIR", "workdir = 'elsewhere'"),
    ],
)
def test_hash_ignores_what_is_not_recipe(old, new):
    other = changed(old, new)
    assert other.sha256() == config.read_bindings(TEXT).sha256()
    assert config.differences(config.read_bindings(TEXT), other) == []


@pytest.mark.parametrize("name", sorted(config.NOT_RECIPE_MACROS))
def test_macros_that_are_not_recipe(name):
    text = "{0} = {1}\npretrain.pretrain.anything = %{0}\n"
    first, second = (config.read_bindings(text.format(name, n)) for n in (1, 2))
    assert first.sha256() == second.sha256()


def test_where_official_files_lie_is_not_recipe():
    text = "DATA_DIR = {}\nfinetune.data_dir = %DATA_DIR\n"
    here, there, sample = (
        config.read_bindings(text.format(value))
        for value in ("'a'", "'b'", "None")
    )
    assert here.sha256() == there.sha256() != sample.sha256()
    assert config.differences(here, there) == []
    assert config.differences(here, sample) == [("DATA_DIR", "a", None)]


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("RUN = @export.export", "RUN = @export.export", True),
        ("RUN = @export.export", "RUN = @evaluate.evaluate", False),
        ("RUN = @finetune.finetune", "RUN = @finetune.finetune", False),
        ("SEED = 1", "SEED = 1", False),
    ],
)
def test_versions_of_one_run(old, new, expected):
    old, new = (config.read_bindings(text + "\nA = 1\n") for text in (old, new))
    assert new.is_version_of(old) == expected


@pytest.mark.parametrize(
    "name, is_covered",
    [
        ("pretrain.pretrain.jit_compile", False),
        ("train/pretrain.pretrain.workdir", False),
        ("fitting.Intervals.anything", False),
        ("pretrain.pretrain.devices", False),
        ("strategy.Devices.strategy_name", False),
        ("train/Sampling.top_k", False),
        ("pretrain.Evaluation.stride", True),
        ("pretrain.pretrain.dtype", True),
    ],
)
def test_parameters_that_are_not_recipe(name, is_covered):
    first, second = (config.read_bindings(f"{name} = {n}\n") for n in (1, 2))
    assert (first.sha256() != second.sha256()) == is_covered
    assert bool(config.differences(first, second)) == is_covered


def test_differences_name_the_macro_that_explains():
    other = changed("PEAK = 2.5e-4", "PEAK = 1e-3")
    assert config.differences(config.read_bindings(TEXT), other) == [
        ("PEAK", 2.5e-4, 1e-3)
    ]


def test_differences_name_the_parameter_where_no_macro_explains():
    other = config.read_bindings(TEXT + "pretrain.pretrain.more = 3\n")
    assert config.differences(config.read_bindings(TEXT), other) == [
        ("pretrain.pretrain.more", None, 3)
    ]


VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@hypothesis.given(VALUES, VALUES)
def test_hash_and_differences_agree(first, second):
    """One value, written as gin writes it, against another."""
    old, new = (
        config.read_bindings(f"A = {value!r}\nf.x = %A\n")
        for value in (first, second)
    )
    assert old.macros["A"] == first
    assert (old.sha256() == new.sha256()) == (not config.differences(old, new))
    if old.sha256() == new.sha256():
        assert first == second
