import os

import pytest

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import workdir

COMMAND = "python -m gpt1_keras.main --gin 'two  spaces.gin'"


def configuration(**macros):
    """A run that uses all `macros` but EXTEND."""
    macros = {"NUM_STEPS": 100, "SEED": 0} | macros
    lines = [f"{name} = {value!r}" for name, value in macros.items()]
    used = macros.keys() - {"EXTEND"}
    lines += [f"run.run.{name.lower()} = %{name}" for name in used]
    return bindings.read_text("\n".join(lines) + "\n")


def refusal(directory, **macros):
    with pytest.raises(errors.InputError) as caught:
        workdir.claim(directory, configuration(**macros), COMMAND)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_first_of_several_workers_writes():
    line = "strategy.Devices.strategy_name = 'multi_worker'\n"
    several = bindings.read_text(line)
    text = '{"cluster": {"worker": ["localhost:%s"]}, "task": %s}'
    task = '{"type": "worker", "index": 0}'
    assert workdir.is_written_by(configuration(), "x")
    assert workdir.is_written_by(several, text % (9, task))
    two = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": %s}'
    assert not workdir.is_written_by(several, two % task.replace("0", "1"))
    two = '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": %s}'
    assert not workdir.is_written_by(several, two % task)
    assert workdir.is_written_by(several, two % task.replace("worker", "chief"))
    for wrong in (
        *(None, "", "x", "{}", "[]", text % (9, "{}"), text % ("x", task)),
        text % (9, task.replace("0", "5")),
        text % (9, task.replace("worker", "boss")),
    ):
        with pytest.raises(errors.InputError, match="needs TF_CONFIG"):
            workdir.is_written_by(several, wrong)


def kept(directory):
    return bindings.read_text((directory / "config.gin").read_text())


def test_a_workdir_belongs_to_its_first_configuration(tmp_path):
    mine = configuration()
    assert workdir.claim(tmp_path / "a" / "b", mine, COMMAND) == ""
    path = tmp_path / "a" / "b" / "config.gin"
    text = path.read_text()
    assert text.startswith(f"# {COMMAND}\n# config_sha256: {mine.sha256()}\n")
    assert kept(path.parent) == mine
    assert workdir.claim(path.parent, mine, "another command") is None
    message = refusal(path.parent, SEED=3, DTYPE="bfloat16")
    assert "SEED 0 -> 3" in message and "DTYPE unset -> 'bfl" in message
    assert "EXTEND" not in message
    assert path.read_text() == text
    # An overlay of a device may set another dtype.
    workdir.claim(tmp_path, configuration(DTYPE="float32"), COMMAND)
    message = refusal(tmp_path, DTYPE="mixed_bfloat16")
    assert "continue it with --set \"DTYPE = 'float32'\"" in message


def test_a_run_that_wrote_nothing_gives_its_workdir_back(tmp_path):
    (tmp_path / "notes").touch()
    os.utime(tmp_path / "notes", (1, 1))
    workdir.claim(tmp_path, configuration(), COMMAND)
    (tmp_path / ".lock").touch()
    (tmp_path / "metrics.jsonl").touch()
    workdir.release(tmp_path, "")
    assert kept(tmp_path) == configuration()
    # The clock was corrected during the run.
    os.utime(tmp_path / "metrics.jsonl", (1, 1))
    workdir.release(tmp_path, "")
    assert kept(tmp_path) == configuration()
    (tmp_path / "metrics.jsonl").unlink()
    workdir.release(tmp_path, "")
    # An extension that was refused leaves the finished run as it was.
    workdir.claim(tmp_path, configuration(SEED=3), COMMAND)
    text = (tmp_path / "config.gin").read_text()
    extended = configuration(SEED=3, NUM_STEPS=200, EXTEND=True)
    (tmp_path / "result.json").touch()
    assert workdir.claim(tmp_path, extended, COMMAND) == text
    workdir.release(tmp_path, text)
    assert (tmp_path / "config.gin").read_text() == text
    # One that has begun is kept.
    workdir.claim(tmp_path, extended, COMMAND)
    (tmp_path / "result.json").rename(tmp_path / "metrics.jsonl")
    workdir.release(tmp_path, text)
    assert kept(tmp_path).macros["NUM_STEPS"] == 200


def test_a_workdir_keeps_its_hash_when_names_change(tmp_path, monkeypatch):
    mine = configuration()
    assert workdir.sha256(tmp_path, mine) == mine.sha256()
    workdir.claim(tmp_path, mine, COMMAND)
    path = tmp_path / "config.gin"
    path.write_text(path.read_text().replace(mine.sha256(), "0123abcd"))
    assert workdir.sha256(tmp_path, mine) == "0123abcd"
    monkeypatch.chdir(tmp_path)  # of no concern to a run without a workdir
    assert workdir.sha256(None, mine) == mine.sha256()
    other = configuration(SEED=1)
    assert workdir.sha256(tmp_path, other) == other.sha256()
    path.write_text("this is = [not gin\n")
    assert workdir.sha256(tmp_path, mine) == mine.sha256()
    assert "config.gin is damaged" in refusal(tmp_path)
    path.write_bytes(b"\xff")
    assert "give another --workdir" in refusal(tmp_path)


def test_files_may_move_until_the_run_ends(tmp_path):
    def claimed(place, num_steps=100, extend=False):
        text = f"EXTEND = {extend}\nRUN = @pretrain.pretrain\n"
        text += "pretrain.pretrain.corpus = @sources.Corpus()\n"
        text += "pretrain.pretrain.training = @pretrain.Training()\n"
        text += f"sources.Corpus.corpus = {place!r}\n"
        text += f"pretrain.Training.num_steps = {num_steps}\n"
        found = bindings.read_text(text)
        return workdir.claim(tmp_path, found, COMMAND), found.sha256()

    (_, first), (text, second) = claimed("a"), claimed("b")
    assert first == second and "'a'" in text and claimed("b")[0] is None
    (tmp_path / "result.json").touch()
    for extend in (False, True):
        with pytest.raises(errors.InputError, match="corpus 'b' -> 'c'; give"):
            claimed("c", extend=extend)
    assert "'b'" in claimed("c", num_steps=200, extend=True)[0]
    assert "corpus = 'c'" in (tmp_path / "config.gin").read_text()


def test_larger_num_steps_needs_extend_and_nothing_else(tmp_path):
    workdir.claim(tmp_path, configuration(), COMMAND)
    message = refusal(tmp_path, NUM_STEPS=200)
    assert "NUM_STEPS 100 -> 200" in message
    assert '--set "EXTEND = True"' in message
    refusal(tmp_path, NUM_STEPS=200, EXTEND=False)
    for macros in ({"NUM_STEPS": 50}, {"NUM_STEPS": 200, "SEED": 1}):
        assert "NUM_STEPS 100 ->" in refusal(tmp_path, EXTEND=True, **macros)
    workdir.claim(tmp_path, configuration(NUM_STEPS=200, EXTEND=True), COMMAND)
    assert kept(tmp_path).macros["NUM_STEPS"] == 200
    assert kept(tmp_path).macros["EXTEND"] is False
    # The extended run goes on after a kill, with EXTEND or without.
    for extend in (True, False):
        again = configuration(NUM_STEPS=200, EXTEND=extend)
        assert not workdir.claim(tmp_path, again, COMMAND)
    for name in ("NUM_EPOCHS", "MIN_EPOCHS", "MIN_STEPS"):
        for number, extend in ((3, False), (4, True)):
            macros = {"NUM_STEPS": None, "EXTEND": extend, name: number}
            workdir.claim(tmp_path / name, configuration(**macros), COMMAND)
            assert kept(tmp_path / name).macros[name] == number
    for name in ("metrics.jsonl", "result.json"):
        files.write_atomic(tmp_path / "seed_1" / name, "")
    message = refusal(tmp_path, NUM_STEPS=300, EXTEND=True)
    assert "seed_1 has no checkpoint to extend it from" in message


def test_an_extension_without_effect_is_refused(tmp_path):
    def text(minimum):
        line = f"finetune.FineTuning.min_epochs = {minimum}\n"
        return bindings.read_text(used + line)

    used = "NUM_EPOCHS = 1\nEXTEND = True\nrun.run.num_epochs = %NUM_EPOCHS\n"
    workdir.claim(tmp_path, text(3), COMMAND)
    with pytest.raises(errors.InputError, match="no effect while NUM_EPOCHS"):
        workdir.claim(tmp_path, text(5), COMMAND)
    workdir.claim(tmp_path / "b", configuration(NUM_EPOCHS=1), COMMAND)
    message = refusal(tmp_path / "b", NUM_EPOCHS=2, EXTEND=True)
    assert "NUM_EPOCHS has no effect while NUM_STEPS" in message


def test_a_run_that_makes_versions_may_differ(tmp_path):
    def version(preset, run="export.export"):
        text = f"RUN = @{run}\nPRESET = {preset!r}\n{run}.preset = %PRESET\n"
        return bindings.read_text(text)

    workdir.claim(tmp_path, version("a"), COMMAND)
    workdir.claim(tmp_path, version("b"), COMMAND)
    assert kept(tmp_path).macros["PRESET"] == "b"
    assert version("b").sha256() in (tmp_path / "config.gin").read_text()
    with pytest.raises(errors.InputError, match="RUN @export.export -> @eval"):
        workdir.claim(tmp_path, version("b", "evaluate.evaluate"), COMMAND)
    files.seal(files.make_folder(tmp_path / "sealed"))
    files.make_folder(tmp_path / "mine" / "plots")  # An evaluation removes it.
    files.write_atomic(tmp_path / "full/cola/seed_1/metrics.jsonl", "")
    files.write_atomic(tmp_path / "1/saved_model.pb", "")
    of_runs = ("full/cola/seed_1", "full/cola", "full")
    for folder in ("sealed", "mine", *of_runs, "1", "."):
        (tmp_path / "config.gin").unlink(missing_ok=True)
        with pytest.raises(errors.InputError, match="it is not the workdir of"):
            workdir.claim(tmp_path / folder, version("b"), COMMAND)
    # Further runs of their own may lie below.
    (tmp_path / "full/cola/config.gin").touch()
    workdir.claim(tmp_path, version("b"), COMMAND)
