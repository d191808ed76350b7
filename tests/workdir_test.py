import json
import types

import pytest

from gpt1_keras import config
from gpt1_keras import errors
from gpt1_keras import workdir

COMMAND = "python -m gpt1_keras.main --gin x.gin"


def configuration(**macros):
    """What `claim` reads; the run uses all `macros` but EXTEND."""
    macros = {"NUM_STEPS": 100, "SEED": 0} | macros
    lines = [f"{name} = {value!r}" for name, value in macros.items()]
    lines += [
        f"run.run.{name.lower()} = %{name}"
        for name in macros
        if name != "EXTEND"
    ]
    if "STRATEGY" in macros:
        lines.append("strategy.Devices.strategy_name = %STRATEGY")
    text = "\n".join(lines) + "\n"
    found = config.read_bindings(text)
    return types.SimpleNamespace(
        text=text, bindings=found, sha256=found.sha256()
    )


def refusal(directory, **macros):
    with pytest.raises(errors.InputError) as caught:
        workdir.claim(directory, configuration(**macros), COMMAND)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "strategy, cluster, task, expected",
    [
        ("none", {"worker": ["a", "b"]}, ("worker", 1), True),
        ("multi_worker", {"worker": ["a", "b"]}, ("worker", 0), True),
        ("multi_worker", {"worker": ["a", "b"]}, ("worker", 1), False),
        ("multi_worker", {"chief": ["a"], "worker": ["b"]}, ("chief", 0), True),
        ("multi_worker", {"chief": ["a"], "worker": ["b"]}, ("worker", 0), False),
    ],
)  # fmt: skip
def test_the_first_of_several_workers_writes(strategy, cluster, task, expected):
    kind, index = task
    tf_config = {"cluster": cluster, "task": {"type": kind, "index": index}}
    mine = configuration(STRATEGY=strategy)
    assert workdir.is_written_by(mine, json.dumps(tf_config)) == expected
    assert workdir.is_written_by(mine, None)
    assert workdir.is_written_by(mine, "{broken")


def test_first_claim_writes_config(tmp_path):
    mine = configuration()
    assert workdir.claim(tmp_path / "a" / "b", mine, COMMAND)
    text = (tmp_path / "a" / "b" / "config.gin").read_text()
    assert text.startswith(f"# {COMMAND}\n# config_sha256: {mine.sha256}\n")
    assert config.read_bindings(text) == mine.bindings


def test_same_configuration_keeps_the_file(tmp_path):
    workdir.claim(tmp_path, configuration(), COMMAND)
    before = (tmp_path / "config.gin").read_bytes()
    assert not workdir.claim(tmp_path, configuration(), "another command")
    assert (tmp_path / "config.gin").read_bytes() == before


def test_other_configuration_is_refused_by_name(tmp_path):
    workdir.claim(tmp_path, configuration(), COMMAND)
    before = (tmp_path / "config.gin").read_bytes()
    message = refusal(tmp_path, SEED=3, DTYPE="bfloat16")
    assert "SEED 0 -> 3" in message
    assert "DTYPE unset -> 'bfloat16'" in message
    assert "EXTEND" not in message
    assert (tmp_path / "config.gin").read_bytes() == before


def test_a_device_file_that_changes_the_dtype_says_how_to_continue(tmp_path):
    workdir.claim(tmp_path, configuration(DTYPE="float32"), COMMAND)
    message = refusal(tmp_path, DTYPE="mixed_bfloat16")
    assert "continue it with --set \"DTYPE = 'float32'\"" in message


def test_a_workdir_keeps_its_hash_when_names_change(tmp_path):
    mine = configuration()
    assert workdir.sha256(tmp_path, mine) == mine.sha256
    workdir.claim(tmp_path, mine, COMMAND)
    path = tmp_path / "config.gin"
    path.write_text(path.read_text().replace(mine.sha256, "0123abcd"))
    assert workdir.sha256(tmp_path, mine) == "0123abcd"
    other = configuration(SEED=1)
    assert workdir.sha256(tmp_path, other) == other.sha256
    path.write_text("this is = [not gin\n")
    assert workdir.sha256(tmp_path, mine) == mine.sha256


def test_larger_num_steps_needs_extend(tmp_path):
    workdir.claim(tmp_path, configuration(), COMMAND)
    message = refusal(tmp_path, NUM_STEPS=200)
    assert "NUM_STEPS 100 -> 200" in message
    assert '--set "EXTEND = True"' in message
    refusal(tmp_path, NUM_STEPS=200, EXTEND=False)

    extended = configuration(NUM_STEPS=200, EXTEND=True)
    assert not workdir.claim(tmp_path, extended, COMMAND)
    text = (tmp_path / "config.gin").read_text()
    assert config.read_bindings(text).macros["NUM_STEPS"] == 200
    assert config.read_bindings(text).macros["EXTEND"] is False
    # The extended run goes on after a kill, with EXTEND or without.
    for extend in (True, False):
        again = configuration(NUM_STEPS=200, EXTEND=extend)
        assert not workdir.claim(tmp_path, again, COMMAND)


def test_num_epochs_beside_num_steps_extend_nothing(tmp_path):
    workdir.claim(tmp_path, configuration(NUM_EPOCHS=1), COMMAND)
    message = refusal(tmp_path, NUM_EPOCHS=3, EXTEND=True)
    assert "NUM_STEPS = 100: raise NUM_STEPS" in message


@pytest.mark.parametrize(
    "macros", [{"NUM_STEPS": 50}, {"NUM_STEPS": 200, "SEED": 1}]
)
def test_extend_allows_nothing_else(tmp_path, macros):
    workdir.claim(tmp_path, configuration(), COMMAND)
    assert "NUM_STEPS 100 ->" in refusal(tmp_path, EXTEND=True, **macros)


def test_config_that_is_not_gin(tmp_path):
    (tmp_path / "config.gin").write_text("this is = [not gin\n")
    assert "config.gin is damaged" in refusal(tmp_path)


def test_workdir_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be used as workdir" in refusal(tmp_path / "file")
    with pytest.raises(errors.InputError, match="cannot be used as workdir"):
        with workdir.held(tmp_path / "file"):
            pass


def test_held_keeps_others_out_until_it_ends(tmp_path):
    with workdir.held(tmp_path / "new" / "w"):
        with workdir.held(tmp_path / "other"):
            pass
        with pytest.raises(errors.InputError, match="is using it: wait"):
            with workdir.held(tmp_path / "new" / "w"):
                pass
    with workdir.held(tmp_path / "new" / "w"):
        pass
    assert not list((tmp_path / "new" / "w").iterdir())


def test_held_without_locks(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with workdir.held(tmp_path), workdir.held(tmp_path):
        pass


def test_release_frees_only_an_untouched_workdir(tmp_path):
    workdir.claim(tmp_path, configuration(), COMMAND)
    (tmp_path / "checkpoints").mkdir()
    workdir.release(tmp_path)
    assert not (tmp_path / "config.gin").exists()
    workdir.claim(tmp_path, configuration(), COMMAND)
    (tmp_path / "checkpoints" / "1.npz").write_text("")
    workdir.release(tmp_path)
    assert (tmp_path / "config.gin").exists()


def test_a_run_that_makes_versions_may_differ(tmp_path):
    def version(preset, run="export.export"):
        text = f"RUN = @{run}\nPRESET = {preset!r}\n{run}.preset = %PRESET\n"
        found = config.read_bindings(text)
        return types.SimpleNamespace(
            text=text, bindings=found, sha256=found.sha256()
        )

    assert workdir.claim(tmp_path, version("a"), COMMAND)
    assert not workdir.claim(tmp_path, version("b"), COMMAND)
    text = (tmp_path / "config.gin").read_text()
    assert config.read_bindings(text).macros["PRESET"] == "b"
    assert version("b").sha256 in text
    with pytest.raises(errors.InputError, match="another configuration"):
        workdir.claim(tmp_path, version("b", "evaluate.evaluate"), COMMAND)
