import gin
import pytest

from gpt1_keras import config
from gpt1_keras import errors

RECORD = """\
from __gin__ import dynamic_registration
from tests.reference import recorded_run

RUN = @recorded_run.record
STEPS = 10
SEED = 0
SPARE = 1

recorded_run.record.steps = %STEPS
recorded_run.record.build = @recorded_run.product
recorded_run.product.factor = %SEED
"""


@pytest.fixture(autouse=True)
def clean_gin():
    yield
    gin.clear_config()


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="run.gin"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write_text


def refusal(names, settings=()):
    with pytest.raises(errors.InputError) as caught:
        config.resolve(names, list(settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_resolved_text_gives_the_same_configuration(write):
    first = config.resolve([write(RECORD)], ["SEED = 5"], "out/x")
    second = config.resolve([write(first.text, "config.gin")], [])
    assert first.bindings == second.bindings
    assert first.bindings.macros["SEED"] == 5
    assert first.bindings.macros["WORKDIR"] == "out/x"
    assert first.sha256 == second.sha256


def test_function_is_the_run_with_its_bindings(write, tmp_path):
    found = config.resolve([write(RECORD)], ["SEED = 5"])
    found.function()(workdir=tmp_path, config_sha256=found.sha256)
    assert '"built": 15' in (tmp_path / "arguments.json").read_text()


def test_hash_covers_the_recipe_only(write):
    def sha256(*settings, workdir=None):
        path = write(RECORD)
        return config.resolve([path], list(settings), workdir).sha256

    assert sha256() == sha256(workdir="elsewhere")
    assert sha256() == sha256("recorded_run.record.log_steps = 9")
    assert sha256() != sha256("SEED = 1")
    assert sha256() != sha256("recorded_run.product.factor = 1")


def test_gin_is_locked_afterwards(write):
    config.resolve([write(RECORD)], [])
    assert gin.config_is_locked()


def test_overlay_overrides(write):
    overlay = write("STEPS = 99\n", "overlay.gin")
    found = config.resolve([write(RECORD), overlay], [])
    assert found.bindings.macros["STEPS"] == 99


@pytest.mark.parametrize("name", ["SPARE", "STEPZ"])
def test_setting_that_nothing_uses(write, name):
    assert f"nothing uses a macro {name}" in refusal(
        [write(RECORD)], [f"{name} = 3"]
    )


@pytest.mark.parametrize(
    "setting", ["WORKDIR = 'x'", "EXTEND = True", "RUN = @recorded_run.record"]
)
def test_settings_that_main_uses(write, setting):
    name = setting.split()[0]
    found = config.resolve([write(RECORD)], [setting])
    assert name in found.bindings.macros


def test_undefined_macro_names_its_place(write):
    path = write(RECORD.replace("STEPS = 10\n", ""))
    message = refusal([path])
    assert message.startswith(f"{path}, line 8: macro STEPS is not defined")
    assert '--set "STEPS = VALUE"' in message


def test_undefined_workdir_asks_for_the_flag(write):
    path = write(RECORD + "recorded_run.record.workdir = %WORKDIR\n")
    assert "--workdir DIR" in refusal([path])
    assert config.resolve([path], [], "out/x")


@pytest.mark.parametrize(
    "line, name",
    [
        ("STEPS = %gin.REQUIRED", "STEPS"),
        ("recorded_run.record.log_steps = %gin.REQUIRED", "log_steps"),
    ],
)
def test_required_names_its_place(write, line, name):
    path = write(RECORD + line + "\n")
    message = refusal([path])
    assert message.startswith(f"{path}, line ")
    assert f"{name} must be given" in message


def test_required_macro_given_by_setting(write):
    path = write(RECORD + "STEPS = %gin.REQUIRED\n")
    assert config.resolve([path], ["STEPS = 3"])


def test_required_argument_of_the_run_that_nothing_binds(write):
    path = write(RECORD.replace("recorded_run.record.steps = %STEPS\n", ""))
    found = config.resolve([path], [])
    given = ("workdir", "config_sha256")
    with pytest.raises(errors.InputError, match="needs steps"):
        config.check_arguments(found, given)
    found = config.resolve([write(RECORD)], [])
    config.check_arguments(found, given)
    with pytest.raises(errors.InputError, match="needs config_sha256"):
        config.check_arguments(found, ("workdir",))


@pytest.mark.parametrize(
    "line, expected",
    [
        ("", "name no RUN"),
        ("RUN = 'record'", "is not a function"),
        ("RUN = @recorded_run.record()", "is not a function"),
    ],
)
def test_run_must_be_a_function(write, line, expected):
    text = RECORD.replace("RUN = @recorded_run.record\n", line + "\n")
    assert expected in refusal([write(text)])


def test_no_file():
    assert "--gin" in refusal([])
