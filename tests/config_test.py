import pathlib
import sys

import gin
import hypothesis
import pytest
from hypothesis import strategies as st

from gpt1_keras import bindings
from gpt1_keras import checks
from gpt1_keras import config
from gpt1_keras import errors
from gpt1_keras import precision
from gpt1_keras import workdir as workdirs
from tests.reference import data_files
from tests.reference import recorded_run

RECORD = recorded_run.GIN
# Public names with parameters of every mark; the run refers to most.
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
pretrain.pretrain.sampling = @pretrain.Sampling()
pretrain.pretrain.corpus = @sources.BenchmarkFiles()
pretrain.Training.seed = %SEED
pretrain.Training.softmax_chunk = 512
pretrain.Sampling.top_k = 40
held_out.Evaluation.stride = 256
sources.BenchmarkFiles.data_dir = %DATA
train/pretrain.pretrain.names = {'a': (1, True), 'b': None}
"""


@pytest.fixture
def write(tmp_path):
    return lambda text: str(data_files.write(tmp_path, "run.gin", text))


def resolve(
    path, *settings, workdir=None, allowed=("tests.reference.recorded_run",)
):
    return config.resolve([str(path)], list(settings), workdir, allowed)


def refusal(path, *settings, **keywords):
    with pytest.raises(errors.InputError) as caught:
        resolve(path, *settings, **keywords)
    assert str(caught.value).isprintable()
    return str(caught.value)


def changed(old, new):
    assert old in TEXT
    return bindings.read_text(TEXT.replace(old, new))


def test_bindings_are_symbols_and_data():
    found = bindings.read_text(TEXT)
    assert found.macros["RATES"] == [bindings.Macro("PEAK"), 1e-5]
    assert found.run == bindings.Reference("pretrain.pretrain", False)
    build = bindings.Reference("models.build", True)
    assert found.parameters["pretrain.pretrain.build_backbone"] == build
    names = found.parameters["train/pretrain.pretrain.names"]
    assert names == {"a": (1, True), "b": None}
    assert found.imports == {"models": "somewhere.models"}
    assert bindings.read_text(found.text()) == found
    assert "import somewhere.models as models" in found.text()
    # Macros are followed.
    assert found.used_macros() == {"SEED", "RATES", "PEAK", "WORKDIR", "DATA"}
    assert "RUN" in found.used_macros("RUN")
    with pytest.raises(errors.InputError, match="terms of itself"):
        bindings.read_text("A = [%B]\nB = %A\n")
    # What the run does not refer to is dropped.
    small = found.without_unused("RUN")
    assert "held_out.Evaluation.stride" not in small.parameters
    assert "pretrain.Sampling.top_k" in small.parameters
    assert "UNUSED" not in small.macros


def test_hash_and_differences_cover_the_recipe():
    before = bindings.read_text(TEXT)
    assert before.values_of("pretrain.pretrain.names") == [
        {"a": (1, True), "b": None}
    ]
    for old, new, is_covered in (
        ("SEED = 0", "SEED = 1", True),
        ("@models.build()", "@models.build", True),
        ("@models.build()", "'models.build()'", True),
        ("(1, True)", "(1, 1)", True),
        ("RUN = @pretrain.pretrain", "RUN = @prepare.prepare", True),
        ("train/pretrain", "pretrain", True),
        ("DATA = None", "DATA = 'data'", True),
        ("'out/x'", "'out/y'", False),
        ("UNUSED = 5", "UNUSED = 6", False),
        ("= %SEED", "= 0", False),
        ("SEED = 0", "SEED = 0.0", False),
        ("{'a': (1, True), 'b': None}", "{'b': None, 'a': (1, True)}", False),
        ("softmax_chunk = 512", "softmax_chunk = 9", False),
        ("@pretrain.Sampling()", "None", False),
        ("stride = 256", "stride = 9", False),
    ):
        after = changed(old, new)
        found = bindings.differences(before, after)
        assert bool(found) == is_covered, new
        assert (after.sha256() != before.sha256()) == is_covered, new
    # Of a location only whether it is given; a default is as if not bound.
    here, there = (changed("DATA = None", f"DATA = {d!r}") for d in "ab")
    assert here.sha256() == there.sha256()
    assert bindings.differences(here, before) == [("DATA", "a", None)]
    assert not bindings.differences(here, there, with_paths=True)
    text = "RUN = @f.f\nf.f.e = @held_out.Evaluation()\n"
    given = text + "held_out.Evaluation.final_tokens = None\n"
    first, second = map(bindings.read_text, (text, given))
    assert first.sha256() == second.sha256()
    # The macro is named, or the parameter.
    for after, expected in (
        (changed("PEAK = 2.5e-4", "PEAK = 1e-3"), ("PEAK", 2.5e-4, 1e-3)),
        (changed("= %SEED", "= 7"), ("pretrain.Training.seed", 0, 7)),
        (changed("= %SEED", "= %A\nA = 7"), ("pretrain.Training.seed", 0, 7)),
        (
            bindings.read_text(TEXT + "pretrain.pretrain.more = 3\n"),
            ("pretrain.pretrain.more", None, 3),
        ),
    ):
        assert bindings.differences(before, after) == [expected]


def test_what_may_change_before_a_run_is_resumed():
    """Devices, memory, logging and places; all else is part of the recipe."""
    free = {
        "pretrain.pretrain": "devices intervals paper sampling zero_shot",
        "pretrain.Training": "microbatch_size softmax_chunk",
        "held_out.Evaluation": "batch_size tokens",
        "finetune.finetune": "devices intervals paper",
        "finetune.FineTuning": "bucket_lengths evaluation_batch_size "
        "microbatch_size num_scored_train_examples softmax_chunk",
        "sources.BenchmarkFiles": "data_dir",
        "custom.custom": "data_dir",
    }
    for run in ("pretrain", "finetune/custom"):
        found = bindings.read([f"gin/{run}.gin"], [])
        for function in found.reached():
            marked = [
                name
                for name, each in found.signature(function).items()
                for mark in checks.marks(each.annotation)
                if mark.is_location or not mark.recipe
            ]
            assert sorted(marked) == free.get(function, "").split(), function


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@hypothesis.given(VALUES, VALUES)
def test_hash_differences_and_text_agree(first, second):
    """One value, written as gin writes it, against another."""
    old, new = (
        bindings.read_text(f"A = {value!r}\nf.x = %A\n")
        for value in (first, second)
    )
    assert old.macros["A"] == first
    assert bindings.read_text(old.text()) == old
    is_same = old.sha256() == new.sha256()
    assert is_same == (not bindings.differences(old, new))
    if is_same:
        assert first == second


def test_repository_is_first_and_the_current_directory_second(
    tmp_path, monkeypatch
):
    root, current = tmp_path / "repository", tmp_path / "current"
    base = data_files.write(root, "gin/base.gin", "A = 'ours'\n")
    data_files.write(root, "gin/run.gin", "include 'gin/base.gin'\n")
    data_files.write(current, "gin/base.gin", "A = 'foreign'\n")
    data_files.write(current, "own.gin", "include 'gin/base.gin'\nB = 2\n")
    monkeypatch.setattr(bindings, "ROOT", root)
    monkeypatch.chdir(current)
    for name in ("gin/run.gin", "gin/base.gin", "own.gin"):
        assert bindings.read([name], []).macros["A"] == "ours"
    assert bindings.read(["own.gin"], []).macros["B"] == 2
    # Mistakes name the file in which they are.
    base.write_text("A = 1\nB = 2 * 3\n")
    assert refusal("gin/run.gin").startswith("gin/base.gin, line 2: ")
    base.write_text("include 'gin/../gin/run.gin'\n")
    assert "includes itself" in refusal("gin/run.gin")
    assert "did you mean gin/run.gin?" in refusal("gin/rnu.gin")
    pathlib.Path("binary.gin").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in refusal("binary.gin")


def test_mistakes_name_file_and_line(write):
    header = "from tests.reference import recorded_run\n"
    run = "RUN = @recorded_run.record\n"
    for text, expected in (
        ("A = 2 * 3", "arithmetic"),
        ("A = [1, 2", "line"),
        ("A = text", "quotes"),
        ("A = 1e999", "too large"),
        ("  A = 3\n B = 4", "indent"),
        ("recorded_run.record.stepz = 3", "no parameter stepz; did you mean"),
        ("recorded_run.nothing.steps = 3", "no recorded_run.nothing"),
        ("pretrain.Trainign.seed = 3", "did you mean pretrain.Training?"),
        ("include 'gin/missing.gin'", "gin/missing.gin"),
        ("include 'gin/\0.gin'", "line 3"),
        ("RUN = 'record'", "is not a function"),
        ("RUN = @recorded_run.record()", "is not a function"),
    ):
        path = write(f"{header}{run}{text}\n")
        message = refusal(path)
        assert message.startswith(f"{path}, line "), text
        assert expected in message, text
    # The first of several places.
    path = write(f"{header}{run}nowhere.f.a = 1\nnowhere.f.b = 2\n")
    assert refusal(path).startswith(f"{path}, line 3: there is no nowhere.f")
    assert "nested too deeply" in refusal(write("A = " + "[" * 5000))
    assert "unhashable" in refusal(write("A = {[]: 1}"))
    assert len(refusal("gin/pretrain.gin", "A = " + "[" * 5000)) < 200
    for value in ("'a\udcff'", "'a\\udcff'"):
        assert "CORPUS" in refusal("gin/pretrain.gin", f"CORPUS = {value}")
    with pytest.raises(errors.InputError, match="--gin"):
        config.resolve([], [])


def test_gin_files_run_no_other_code(write):
    """As in the `config.gin` of a stranger's preset."""
    for text, name in (
        ("import os\nRUN = @os.system\nos.system.command = 'true'", "os"),
        ("import os as pretrain\nRUN = @pretrain.system", "os"),
        ("from gpt1_keras import main\nRUN = @main.os.system", "main"),
        ("from gpt1_keras import files\nRUN = @files.sync", "of gpt1_keras.f"),
        ("import gpt1_keras.files\nRUN = @gpt1_keras.files.sync", "files"),
        ("include 'gin/pretrain.gin'\nSEED = @os.getpid()", "os.getpid"),
    ):
        for workdir in (None, "out/x"):
            assert name in refusal(write(text), workdir=workdir, allowed=())
        # Reading it for a comparison runs nothing either.
        found = bindings.read_text(text)
        assert "posix" not in str(found.recipe())
        for function in ("os.system", "pretrain.system", "files.sync"):
            assert found.find(function) is None
    # Nor does an import that nothing uses.
    assert resolve(write("import antigravity\ninclude 'gin/pretrain.gin'"))
    assert "antigravity" not in sys.modules
    message = refusal(write(RECORD), allowed=("os", "tests.reference.recorded"))
    assert "--allow_module tests.reference.recorded_run" in message
    assert resolve(write(RECORD), allowed=("tests",))
    # A function of the user must take what it gets, and its module be imported.
    given = "pretrain.pretrain.build_optimizer = @recorded_run."
    header = "from tests.reference import recorded_run\n"
    path = write(f"{header}include 'gin/pretrain.gin'\n{given}product\n")
    message = refusal(path, allowed=("tests",))
    assert "'num_steps': give a function of num_steps" in message
    text = f"{given}product()\nrecorded_run.product.factor = 1\n"
    path = write(f"{header}include 'gin/pretrain.gin'\n{text}")
    assert resolve(path, allowed=("tests",))  # What it returns is called.
    found = refusal(
        "gin/pretrain.gin", f"{given}sgd", allowed=("recorded_run",)
    )
    assert "write `import recorded_run` in a gin file" in found


def test_settings_must_be_used_and_values_given(write):
    path = write(RECORD)
    for name in ("SPARE", "STEPZ"):
        message = refusal(path, f"{name} = 3")
        assert f"this run has no setting {name}" in message
    message = refusal("gin/pretrain.gin", "ZERO_SHOT_TASKS = ('cola',)")
    assert "without --gin gin/zero_shot/while_pretraining.gin" in message
    message = refusal("gin/pretrain.gin", "finetune.FineTuning.patience = 3")
    assert "@pretrain.pretrain does not use finetune.FineTuning" in message
    for setting in ("WORKDIR = 'x'", "EXTEND = True", "STEPS = 99"):
        found = resolve(path, setting)
        assert setting.split()[0] in found.macros
    path = write(RECORD.replace("STEPS = 10\n", ""))
    message = refusal(path)
    assert message.startswith(f"{path}, line 10: macro STEPS is not defined")
    assert '--set "STEPS = VALUE"' in message
    message = refusal("gin/pretrain.gin", "SEED = %STEPS")
    assert message.startswith('--set "SEED = %STEPS": macro STEPS is not def')
    path = write(RECORD + "recorded_run.record.workdir = %WORKDIR\n")
    assert resolve(path, workdir="out/x").macros["WORKDIR"] == "out/x"
    assert gin.config_is_locked()
    # Where it was bound last.
    last = RECORD.count("\n") + 1
    for name in ("STEPS", "recorded_run.record.log_steps"):
        path = write(f"{RECORD}{name} = %gin.REQUIRED\n")
        expected = f"{path}, line {last}: {name} must be given"
        assert refusal(path).startswith(expected)
    assert resolve(write(RECORD + "STEPS = %gin.REQUIRED\n"), "STEPS = 3")
    # A required argument of the run that nothing binds.
    path = write(RECORD.replace("  steps = %STEPS\n", ""))
    assert "record.steps = VALUE" in refusal(path)


def test_references_must_suit_the_parameter():
    function = "is {}: give a reference such as @module.name"
    for name, value, expected in (
        ("build_optimizer", "None", function),
        ("build_optimizer", "@presets.Scoring()", function),
        ("build_optimizer", "@fit.Intervals", "is {}: give a function of num_"),
        ("pretrained", "None", "is {}: give @presets.Pretrained()"),
        ("pretrained", "@presets.Pretrained", "is {}: give @presets.Pre"),
        ("data", "@presets.Scoring()", "is {}: give @sources.BenchmarkFiles()"),
    ):
        setting = f"finetune.finetune.{name} = {value}"
        message = refusal("gin/finetune/cola.gin", setting)
        assert expected.format(value) in message
    assert resolve("gin/pretrain.gin", "pretrain.pretrain.zero_shot = None")


def test_auto_dtype_is_settled_and_a_resumed_run_keeps_its_own(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(precision, "fastest", lambda: "mixed_bfloat16")
    files = ["gin/pretrain.gin"]

    def dtype(*settings, workdir=tmp_path):
        found = config.resolve(files, list(settings), str(workdir))
        (value,) = found.values_of("pretrain.Training.dtype")
        return value, found

    assert dtype()[0] == "mixed_bfloat16"
    assert dtype("DTYPE = 'float32'")[0] == "float32"
    direct = "pretrain.Training.dtype = 'auto'"
    assert dtype(direct)[0] == "mixed_bfloat16"
    # What follows knows no 'auto', and neither does the recipe.
    _, found = dtype("DTYPE = 'float32'")
    workdirs.claim(tmp_path, found, "the command")
    value, resumed = dtype()
    assert value == "float32"
    assert workdirs.claim(tmp_path, resumed, "the command") is None
    assert "'auto'" not in resumed.text()
    (tmp_path / "config.gin").write_text("damaged (")
    assert dtype()[0] == "mixed_bfloat16"
    # Of no workdir, not of the current folder; a wrong one is main's to refuse.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.gin").write_text(resumed.text())
    for setting in ("SEED = 1", "WORKDIR = 3", "WORKDIR = ''"):
        found = config.resolve(files, [setting])
        assert found.macros["DTYPE"] == "mixed_bfloat16", setting
    with pytest.raises(errors.InputError, match="'auto' or 'float32' or"):
        dtype("DTYPE = 'bfloat16'")
