"""Every dial of every run with wrong values; nothing is trained."""

import itertools

import pytest

from gpt1_keras import bindings as bindings_lib
from gpt1_keras import config
from gpt1_keras import errors

RUNS = (
    "pretrain finetune/cola finetune/custom grid evaluate predict "
    "export zero_shot/sst2 perplexity generate view demo report submission"
).split()
OVERLAYS = [
    "gin/ablation/lstm.gin",
    "gin/data/raw_text.gin",
    "gin/zero_shot/while_pretraining.gin",
]
REQUIRED = "PRESET TRAIN_FILE TEST_FILE RUNS RESULTS CORPUS".split()
# No parameter takes these, but those that the run itself checks.
NEVER = ("1e999", "1e-300", "'a\\0b'", "[[]]", "1" + "0" * 400)
ANY = ("'wrong'", "-1", "0", "2", "-1.5", "''", "True", "None", "()")
ANY += ("('a', 3)", "'%s'" % ("x" * 300), "@f.f()")
UNTYPED = {
    *("TASKS", "ROWS", "ZERO_SHOT_TASKS", "LABEL_WORDS", "WORKDIR"),
    *("zero_shot.task.name", "benchmarks.benchmark.name"),
    *("finetune.finetune.task", "finetune.finetune.data"),
}
REFUSED = {
    "CORPUS": ("''", "3", "'~nosuchuser'"),
    "EXTEND": ("'yes'", "None", "1"),
    "pretrain.pretrain.paper": ("{'a': 'x'}", "{'a': {}}", "{1: 2}"),
    "PEAK_LEARNING_RATE": ("0", "1e9", "2"),
    "pretrain.pretrain.workdir": ("'x'", "None"),
}


@pytest.fixture(scope="module")
def resolved(tmp_path_factory):
    """Return {name of a run: (its config.gin, its `Bindings`)}."""
    found = {}
    for name in RUNS:
        given = bindings_lib.read([f"gin/{name}.gin"], []).macros
        settings = [f"{m} = 'x'" for m in REQUIRED if m in given]
        names = [f"gin/{name}.gin"] + (OVERLAYS if name == "pretrain" else [])
        resolved = config.resolve(names, settings, "out/x")
        path = tmp_path_factory.mktemp("config") / "config.gin"
        path.write_text(resolved.text())
        found[name] = str(path), resolved
    return found


def refusal(path, setting):
    """Return the message that refuses a setting, None if nothing does."""
    try:
        config.resolve([path], [setting])
    except errors.InputError as error:
        message = str(error)
        assert message.isprintable() and len(message) < 400
        return message
    return None


def test_files_that_do_not_go_together_are_refused():
    for names, expected in (
        (["finetune/cola", "ablation/lstm"], "uses none of its settings"),
        (["generate", "data/sample"], "uses none of its settings"),
        (["model/tiny", "pretrain"], "pretrain.gin is a run of its own"),
        (["finetune"], "needs name, which is not bound"),
    ):
        with pytest.raises(errors.InputError, match=expected):
            config.resolve([f"gin/{n}.gin" for n in names], [], "out/x")


def test_any_value_of_any_dial_resolves_or_is_refused_in_a_line(resolved):
    seen = set()
    for path, bindings in resolved.values():
        dials = (bindings.macros.keys() - {"RUN"}) | {
            name
            for name, value in bindings.parameters.items()
            if not isinstance(value, bindings_lib.Macro)
            and not bindings_lib.references(value)
        }
        for dial, value in itertools.product(dials - seen, NEVER + ANY):
            message = refusal(path, f"{dial} = {value}")
            if value in NEVER and dial not in UNTYPED:
                assert message, (path, dial, value)
        seen |= dials
    assert len(seen) > 100


def test_wrong_values_are_refused_with_the_dial(resolved):
    path, bindings = resolved["pretrain"]
    for dial, values in REFUSED.items():
        for value in values:
            message = refusal(path, f"{dial} = {value}")
            assert message and f"{dial} " in message, (dial, value, message)
