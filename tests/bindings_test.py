import hypothesis
import pytest
from hypothesis import strategies

from gpt1_keras import config
from gpt1_keras import errors

TEXT = """\
from __gin__ import dynamic_registration
from somewhere import models

RUN = @pretrain.pretrain
SEED = 0
PEAK = 2.5e-4
RATES = [%PEAK, 1e-5]
WORKDIR = 'out/x'
UNUSED = 5
DATA = None

pretrain.pretrain.rates = %RATES
pretrain.pretrain.workdir = %WORKDIR
pretrain.pretrain.build_backbone = @models.build()
pretrain.pretrain.training = @pretrain.Training()
pretrain.pretrain.probing = @zero_shot.ZeroShotTasks()
pretrain.pretrain.corpus = @sources.BenchmarkFiles()
pretrain.Training.seed = %SEED
pretrain.Training.softmax_chunk = 512
zero_shot.ZeroShotTasks.split = 'dev'
held_out.Evaluation.stride = 256
sources.BenchmarkFiles.data_dir = %DATA
train/pretrain.pretrain.names = {'a': (1, True), 'b': None}
"""


def changed(old, new):
    assert old in TEXT
    return config.read_bindings(TEXT.replace(old, new))


def test_read_keeps_macros_and_references_as_symbols():
    found = config.read_bindings(TEXT)
    assert found.macros["RATES"] == [config.Macro("PEAK"), 1e-5]
    assert found.run == config.Reference("pretrain.pretrain", False)
    build = config.Reference("models.build", True)
    assert found.parameters["pretrain.pretrain.build_backbone"] == build
    names = found.parameters["train/pretrain.pretrain.names"]
    assert names == {"a": (1, True), "b": None}
    assert found.imports == {"models": "somewhere.models"}


def test_text_reads_as_the_same():
    found = config.read_bindings(TEXT)
    assert config.read_bindings(found.text()) == found
    assert "from somewhere import models" in found.text()


def test_used_macros_follow_macros():
    found = config.read_bindings(TEXT)
    assert found.used_macros() == {"SEED", "RATES", "PEAK", "WORKDIR", "DATA"}
    assert "RUN" in found.used_macros("RUN")
    found = config.read_bindings("A = [%B]\nB = %A\npretrain.x = %A\n")
    with pytest.raises(errors.InputError, match="defined by itself"):
        found.used_macros()


def test_what_the_run_does_not_refer_to_is_dropped():
    found = config.read_bindings(TEXT).without_unused("RUN")
    assert "held_out.Evaluation.stride" not in found.parameters
    assert "zero_shot.ZeroShotTasks.split" in found.parameters
    assert "UNUSED" not in found.macros


def test_hash_and_differences_cover_the_recipe():
    before = config.read_bindings(TEXT)
    for old, new, is_covered in (
        ("SEED = 0", "SEED = 1", True),
        ("PEAK = 2.5e-4", "PEAK = 2.6e-4", True),
        ("@models.build()", "@models.build", True),
        ("@models.build()", "'models.build()'", True),
        ("'b': None", "'b': 0", True),
        ("(1, True)", "(1, 1)", True),
        ("RUN = @pretrain.pretrain", "RUN = @prepare.prepare", True),
        ("train/pretrain", "pretrain", True),
        ("DATA = None", "DATA = 'data'", True),
        ("'out/x'", "'out/y'", False),
        ("UNUSED = 5", "UNUSED = 6", False),
        ("= %SEED", "= 0", False),
        ("SEED = 0", "SEED = 0.0", False),
        ("(1, True), 'b': None", "(1, True), 'b': None", False),
        ("softmax_chunk = 512", "softmax_chunk = 9", False),
        ("split = 'dev'", "split = 'test'", False),
        ("@zero_shot.ZeroShotTasks()", "None", False),
        ("stride = 256", "stride = 9", False),
    ):
        after = changed(old, new)
        found = config.differences(before, after)
        assert bool(found) == is_covered, new
        assert (after.sha256() != before.sha256()) == is_covered, new


def test_where_official_files_lie_is_not_recipe():
    here, there = (changed("DATA = None", f"DATA = {d!r}") for d in "ab")
    assert here.sha256() == there.sha256()
    assert config.differences(here, config.read_bindings(TEXT)) == [
        ("DATA", "a", None)
    ]


def test_a_default_is_as_good_as_given():
    text = "RUN = @f.f\nf.f.e = @held_out.Evaluation()\n"
    given = text + "held_out.Evaluation.final_tokens = None\n"
    assert (
        config.read_bindings(text).sha256()
        == config.read_bindings(given).sha256()
    )


def test_versions_of_one_run():
    for old, new, expected in (
        ("RUN = @export.export", "RUN = @export.export", True),
        ("RUN = @export.export", "RUN = @evaluate.evaluate", False),
        ("RUN = @finetune.finetune", "RUN = @finetune.finetune", False),
        ("SEED = 1", "SEED = 1", False),
    ):
        old, new = (
            config.read_bindings(text + "\nA = 1\n") for text in (old, new)
        )
        assert new.is_version_of(old) == expected


def test_differences_name_the_macro_or_the_parameter():
    before = config.read_bindings(TEXT)
    other = changed("PEAK = 2.5e-4", "PEAK = 1e-3")
    assert config.differences(before, other) == [("PEAK", 2.5e-4, 1e-3)]
    other = config.read_bindings(TEXT + "pretrain.pretrain.more = 3\n")
    assert config.differences(before, other) == [
        ("pretrain.pretrain.more", None, 3)
    ]
    other = changed("= %SEED", "= 7")
    assert config.differences(before, other) == [
        ("pretrain.Training.seed", 0, 7)
    ]


def test_dial_is_the_macro_or_what_it_stood_for():
    found = config.read_bindings(
        "pretrain.Training.softmax_chunk = %A\nA = 3\n"
    )
    assert found.dial("A") == found.dial("SOFTMAX_CHUNK") == 3
    assert found.dial("PROBES") is None


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
def test_hash_differences_and_text_agree(first, second):
    """One value, written as gin writes it, against another."""
    old, new = (
        config.read_bindings(f"A = {value!r}\nf.x = %A\n")
        for value in (first, second)
    )
    assert old.macros["A"] == first
    assert config.read_bindings(old.text()) == old
    assert (old.sha256() == new.sha256()) == (not config.differences(old, new))
    if old.sha256() == new.sha256():
        assert first == second
