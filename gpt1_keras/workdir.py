"""The workdir of a run, which belongs to the configuration in `config.gin`."""

import contextlib
import itertools
import json
import pathlib
import re

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results

CONFIG = "config.gin"
# This run keeps each version that it writes, so its configuration may change.
_VERSIONED = bindings.Reference("export.export", False)
# Parameters that may grow in a workdir when EXTEND is True.
EXTENDABLE = ("num_steps", "num_epochs", "min_epochs", "min_steps")
_MINIMA = {"finetune.FineTuning.min_epochs", "finetune.FineTuning.min_steps"}
# What runs write or replace, and a user's folder may have, too.
_WRITTEN = """checkpoints checksums.json corpus.json dev.jsonl examples.json
    plots predictions.tsv preset report.html report.md saved_model
    saved_model.pb seed_* skipped_rows.tsv table*.md tensorboard tokens.html
    """.split()
# Macro -> settings that have no effect if the macro is set.
_STRONGER = {"NUM_STEPS": {"NUM_EPOCHS"}, "NUM_EPOCHS": _MINIMA}


def is_written_by(new, tf_config):
    """Return whether this process writes; of several workers, the first does.

    With several workers, `tf_config` (the environment variable TF_CONFIG, or
    None) is refused unless it names all of them and this process.
    """
    if "multi_worker" not in new.values_of("strategy.Devices.strategy_name"):
        return True
    try:
        given = json.loads(tf_config or "null")
        cluster, kind = given["cluster"], given["task"]["type"]
        index = int(given["task"]["index"])
        for address in itertools.chain(*cluster.values()):
            int(address.rpartition(":")[2])
        is_there = 0 <= index < len(cluster[kind])
        if kind not in ("chief", "worker") or not is_there:
            raise ValueError(kind, index)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise errors.InputError(
            "`strategy_name` 'multi_worker' needs TF_CONFIG in the environment"
            " of every process, with all workers and its own index:"
            ' {"cluster": {"worker": ["host:port", ...]}, "task": {"type":'
            ' "worker", "index": 0}}'
        ) from None
    return index == 0 and (kind == "chief" or "chief" not in cluster)


def read(directory, allowed=()):
    """Return the `Bindings` of a workdir and the hash recorded with them.

    Raises OSError or ValueError if its `config.gin` is missing or damaged.
    """
    text = (pathlib.Path(directory) / CONFIG).read_text("utf-8")
    noted = re.search(r"^# config_sha256: (\w+)$", text, re.MULTILINE)
    return bindings.read_text(text, allowed), noted[1] if noted else None


def sha256(directory, new):
    """Return the recipe hash that results in a workdir (or None) carry.

    It is the one recorded there if the recipes are equal: a workdir keeps its
    hash when later versions rename or add parameters.
    """
    if directory is not None:
        with contextlib.suppress(OSError, ValueError):
            old, noted = read(directory, new.allowed)
            if noted and old.recipe() == new.recipe():
                return noted
    return new.sha256()


def claim(directory, new, command):
    """Make `directory` the workdir of `Bindings`: write its `config.gin`.

    An existing one must have the same recipe, and the same paths if the run is
    finished. With EXTEND, numbers of steps or epochs may be larger; exports may
    differ in anything. Returns the text that was replaced: "" for a new file,
    None if the existing file was kept.
    """
    path = pathlib.Path(directory) / CONFIG
    before = ""
    if path.exists():
        before = check(directory, new)
    else:
        foreign = [each for n in _WRITTEN for each in path.parent.glob(n)]
        foreign += [results.path(path.parent), *_metrics(path.parent)]
        if found := [each for each in foreign if each.exists()]:
            raise errors.InputError(
                f"--workdir: {path.parent} has {found[0].name} but no"
                f" {CONFIG}: it is not the workdir of a run; give another"
            )
    if before is not None:
        # Every extension must be asked for, also if this file is run again.
        text = new.text().replace("\nEXTEND = True\n", "\nEXTEND = False\n")
        noted = f"# config_sha256: {sha256(directory, new)}"
        command = f"# {' '.join(command.splitlines())}"
        files.write_atomic(path, f"{command}\n{noted}\n\n{text}")
    return before


def _metrics(directory):
    """Return the metrics of seeds and tasks that this folder would own."""
    return [
        path
        for depth in range(4)  # as in ROW/TASK/seed_1
        for path in directory.glob("*/" * depth + results.METRICS)
        if not any((f / CONFIG).exists() for f in path.parents[:depth])
    ]


def check_in_place(directory):
    """Refuse a claimed workdir that is gone: results went to a new folder."""
    if not (pathlib.Path(directory) / CONFIG).exists():
        raise errors.InputError(
            f"{directory} was moved or removed during the run: put it back and"
            " repeat the same command"
        )


def release(directory, before):
    """Undo a claim, which returned `before`, if the run has done nothing.

    That is, if a new workdir has no newer file and no metrics (whose time may
    be before, after a correction of the clock), or an extended one its result.
    """
    check_in_place(directory)
    config = pathlib.Path(directory) / CONFIG
    if before and results.path(directory).exists():
        files.write_atomic(config, before)
    elif before == "" and not _metrics(config.parent):
        since = config.stat().st_mtime_ns
        found = [p for p in config.parent.rglob("[!.]*") if p.is_file()]
        if [p for p in found if p.stat().st_mtime_ns >= since] == [config]:
            config.unlink()


def check(directory, new):
    """Refuse a workdir of another recipe, as described in `claim`.

    Returns the text that `claim` replaces, None if it keeps the file.
    """
    path = pathlib.Path(directory) / CONFIG
    if not path.exists():
        return None
    remedy = "give another --workdir"
    text = files.read_text("--workdir", path, remedy)
    try:
        old = bindings.read_text(text, new.allowed)
    except errors.InputError as error:
        problem = f"{path} is damaged ({error})"
        raise errors.InputError(f"{problem}; {remedy}") from None
    if new.run == old.run == _VERSIONED:
        return text
    is_extended = new.macros.get("EXTEND") is True
    differing = bindings.differences(old, new)
    with_moved = bindings.differences(old, new, with_paths=True)
    # Files may have moved: a run that resumes checks their contents.
    if results.path(directory).exists() and not (is_extended and differing):
        differing = with_moved
    if new.run != old.run:
        differing = [("RUN", old.run, new.run)]
    if not differing:
        return text if with_moved else None
    names = [name for name, *_ in differing]
    grown = all(
        name.rpartition(".")[2].lower() in EXTENDABLE
        and isinstance(before, int | float)
        and isinstance(after, int | float)
        and after > before
        for name, before, after in differing
    )
    for stronger, weaker in _STRONGER.items():
        value = new.macros.get(stronger)
        if grown and value and weaker.issuperset(names):
            problem = f"{names[0]} has no effect while {stronger} = {value}"
            raise errors.InputError(f"{directory}: {problem}: raise {stronger}")
    if grown and is_extended:
        # All seeds and tasks, before the first one is extended.
        for metrics in _metrics(path.parent):
            folder = metrics.parent
            is_lost = not any(folder.glob("checkpoints/[0-9]*"))
            if is_lost and results.path(folder).exists():
                raise errors.InputError(
                    f"{folder} has no checkpoint to extend it from; {remedy}"
                )
        return text

    def shown(value):
        return "unset" if value is None else repr(value)

    listed = ", ".join(
        f"{name} {shown(before)} -> {shown(after)}"
        for name, before, after in differing
    )
    if grown:
        remedy = f'continue it with --set "EXTEND = True" or {remedy}'
    elif names == ["DTYPE"]:  # An overlay of gin/device/ set it.
        kept = f"DTYPE = {differing[0][1]!r}"
        remedy = f'continue it with --set "{kept}" or {remedy}'
    raise errors.InputError(
        f"{path.parent} belongs to another configuration: {listed}; {remedy}"
    )
