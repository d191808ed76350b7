import errno
import shutil
import threading

import numpy as np
import pytest
import safetensors.numpy

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.training import checkpoints as checkpoints_lib
from tests.reference import data_files
from tests.reference import tiny_learner


@pytest.fixture
def learner():
    return tiny_learner.language_model(dropout=0.2)


@pytest.fixture
def checkpoints(tmp_path):
    return checkpoints_lib.Checkpoints(tmp_path, keep=2)


def files_of(checkpoints, step):
    folder = checkpoints.directory / f"{step:08d}"
    return folder / "state.safetensors", folder / "checkpoint.json"


def test_the_newest_are_kept_and_a_saved_step_is_left_alone(
    checkpoints, learner, tmp_path
):
    assert checkpoints.steps() == [] and checkpoints.restore(learner) == 0
    for step in (1, 5, 12, 100):
        checkpoints.save(step, learner)
    assert checkpoints.steps() == [12, 100]
    path, _ = files_of(checkpoints, 100)
    written = path.stat().st_mtime_ns
    checkpoints.save(100, learner)
    assert path.stat().st_mtime_ns == written
    # Where another process writes, nothing is saved.
    other = checkpoints_lib.Checkpoints(tmp_path, is_written=False)
    other.save(101, learner)
    assert checkpoints.steps() == [12, 100]


DAMAGES = {
    "torn": lambda state, _: state.write_bytes(state.read_bytes()[:-7]),
    "flipped": lambda state, _: data_files.flip_bit(state, -3),
    "no state": lambda state, _: state.unlink(),
    "no index": lambda _, index: index.unlink(),
    "torn index": lambda _, index: index.write_text(index.read_text()[:20]),
    "empty index": lambda _, index: index.write_text("{}"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_newest_falls_back_and_says_so(
    checkpoints, learner, damage, caplog
):
    checkpoints.save(3, learner)
    checkpoints.save(6, learner)
    DAMAGES[damage](*files_of(checkpoints, 6))
    assert checkpoints.restore(learner) == 3
    (record,) = caplog.records
    assert str(checkpoints.directory / "00000006") in record.getMessage()
    # The run writes step 6 again.
    assert checkpoints.steps() == [3]
    DAMAGES[damage](*files_of(checkpoints, 3))
    with pytest.raises(errors.InputError, match="no checkpoint can be read"):
        checkpoints.restore(learner)


def test_one_that_may_not_be_read_is_not_removed(
    checkpoints, learner, monkeypatch
):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    for step in (3, 6):
        checkpoints.save(step, learner)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints_lib.files, "sha256", refuse)
        with pytest.raises(PermissionError):
            checkpoints.restore(learner)
    assert checkpoints.restore(learner) == 6


def test_half_written_checkpoint_is_no_checkpoint(checkpoints, learner):
    checkpoints.save(3, learner)
    leftover = checkpoints.directory / ".00000006.123.tmp"
    leftover.mkdir()
    (leftover / "state.safetensors").write_bytes(b"half")
    assert checkpoints.steps() == [3] == [checkpoints.restore(learner)]
    checkpoints.save(6, learner)
    names = {p.name for p in checkpoints.directory.iterdir()}
    assert names == {"00000003", "00000006"}


def write_preset(preset, step):
    """Write a preset whose weights are its step."""
    shutil.rmtree(preset, ignore_errors=True)
    preset.mkdir()
    (preset / "weights").write_text(str(step))
    files.seal(preset, step=step)


def test_the_preset_of_the_time_comes_back(checkpoints, learner, tmp_path):
    preset = tmp_path / "preset"
    copies = [
        checkpoints.directory / f"0000000{step}" / "preset" for step in (3, 6)
    ]

    def restored():
        checkpoints.restore(learner)
        files.check_seal(preset)
        return (preset / "weights").read_text()

    write_preset(preset, 2)
    checkpoints.save(3, learner)
    checkpoints.save(6, learner)
    # A preset that did not change is not copied again.
    inodes = {(copy / "weights").stat().st_ino for copy in copies}
    assert len(inodes) == 1 != (preset / "weights").stat().st_ino
    assert restored() == "2"
    write_preset(preset, 7)  # after the checkpoint, before a kill
    assert restored() == "2"
    (preset / "weights").write_text("")
    assert restored() == "2"
    shutil.rmtree(preset)
    assert restored() == "2"
    # A checkpoint whose copy is needed and damaged is not used.
    (copies[1] / "weights").unlink()
    (copies[1] / "weights").write_text("")
    assert restored() == "2" and checkpoints.steps() == [3, 6]
    shutil.rmtree(preset)
    assert restored() == "2" and checkpoints.steps() == [3]
    # Without a copy, a later preset goes, an earlier one stays.
    shutil.rmtree(copies[0])
    for step, is_kept in ((2, True), (3, True), (4, False)):
        write_preset(preset, step)
        checkpoints.restore(learner)
        assert preset.exists() == is_kept


def test_a_full_disk_removes_no_checkpoint(
    checkpoints, learner, tmp_path, monkeypatch
):
    write_preset(tmp_path / "preset", 2)
    checkpoints.save(3, learner)
    checkpoints.save(6, learner)
    write_preset(tmp_path / "preset", 7)

    def fail(*arguments, **options):
        raise shutil.Error([("a", "b", "[Errno 28] No space left")])

    monkeypatch.setattr(shutil, "copytree", fail)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.restore(learner)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(9, learner)
    names = sorted(path.name for path in checkpoints.directory.iterdir())
    assert names == ["00000003", "00000006"]


def test_a_workdir_that_was_moved_is_not_created_anew(tmp_path, learner):
    checkpoints = checkpoints_lib.Checkpoints(tmp_path / "w")
    with pytest.raises(FileNotFoundError):
        checkpoints.save(3, learner)
    assert not (tmp_path / "w").exists()


def test_checkpoint_of_another_network(checkpoints, learner, monkeypatch):
    checkpoints.save(3, learner)
    deeper = tiny_learner.language_model(dropout=0.2, num_layers=2)
    before = tiny_learner.state_of(deeper)
    with pytest.raises(errors.InputError, match="another model's variables"):
        checkpoints.restore(deeper)
    np.testing.assert_equal(tiny_learner.state_of(deeper), before)
    monkeypatch.setattr(tiny_learner, "VOCABULARY_SIZE", 12)
    wider = tiny_learner.language_model(dropout=0.2)
    with pytest.raises(errors.InputError, match="shape .11, 8.*needs .12, 8"):
        checkpoints.restore(wider)


def test_a_save_in_the_background(tmp_path, learner, monkeypatch, caplog):
    """Later steps change nothing in it; a failure is told and made good."""
    checkpoints = checkpoints_lib.Checkpoints(tmp_path, in_background=True)
    write_preset(tmp_path / "preset", 2)
    before = tiny_learner.state_of(learner)
    go_on, save_file = threading.Event(), safetensors.numpy.save_file

    def save_later(arrays, path):
        assert go_on.wait(60)
        save_file(arrays, path)

    def fail(arrays, path):
        raise OSError("no space left")

    monkeypatch.setattr(safetensors.numpy, "save_file", save_later)
    checkpoints.save(3, learner)
    for variable in learner.variables:
        variable.assign(variable + 1)
    write_preset(tmp_path / "preset", 4)
    assert checkpoints.steps() == []
    go_on.set()
    checkpoints.check()
    assert checkpoints.restore(learner) == 3
    np.testing.assert_equal(tiny_learner.state_of(learner), before)
    assert (tmp_path / "preset" / "weights").read_text() == "2"

    monkeypatch.setattr(safetensors.numpy, "save_file", fail)
    checkpoints.save(6, learner)
    with pytest.raises(OSError, match="no space"):
        checkpoints.check()
    assert "00000006 could not be written (no space" in caplog.text
    # The next one is tried, while training waits.
    with pytest.raises(OSError, match="no space"):
        checkpoints.save(9, learner)
    monkeypatch.setattr(safetensors.numpy, "save_file", save_file)
    checkpoints.save(12, learner)
    checkpoints.check()
    assert [p.name for p in checkpoints.directory.iterdir()] == ["00000012"]
