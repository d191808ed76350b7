"""The commands in headers of gin files and in documents resolve."""

import itertools
import re
import shlex

from gpt1_keras import bindings
from gpt1_keras import config
from tests.reference import processes
from tests.reference.processes import ROOT

GIN_FILES = sorted(
    path.relative_to(ROOT).as_posix() for path in ROOT.glob("gin/**/*.gin")
)
FRAGMENTS = ("gin/model/", "gin/data/")
MAIN = "python -m gpt1_keras.main "


def commands(text):
    """All main commands in `text`; those in backticks may begin with --gin."""
    text = re.sub(r"\\\n#?\s*", "", text)
    short = re.findall(r"`(--gin [^`\n|]*--(?:set|workdir) [^`\n|]*)`", text)
    return re.findall(rf"{MAIN}[^`\n|]*", text) + [
        f"{MAIN} {arguments}" for arguments in short
    ]


def parse_command(command):
    """Return (gin files, settings) of a command line."""
    words = shlex.split(command.removeprefix(MAIN), comments=True)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    assert {flag for flag, _ in pairs} <= {"--gin", "--set", "--workdir"}
    return tuple(
        [value for flag, value in pairs if flag == wanted]
        for wanted in ("--gin", "--set")
    )


def resolve(command):
    return config.resolve(*parse_command(command), "out/x")


def commands_of(name):
    """The commands that use gin file `name`, from headers."""
    header = (ROOT / name).read_text(encoding="utf-8").partition("\n\n")[0]
    included = re.search(r"^# Run: +included by (\S+\.gin)$", header, re.M)
    if included:
        text = (ROOT / included[1]).read_text(encoding="utf-8")
        assert f"include '{name}'" in text
        return commands_of(included[1])
    found = commands(header)
    assert all(name in parse_command(command)[0] for command in found)
    return found


def test_commands_in_the_headers_parse_and_use_every_macro():
    for name in GIN_FILES:
        found = [
            resolve(command).macros.keys() for command in commands_of(name)
        ]
        assert found, f"{name}: no command in its header"
        dials = set().union(*found)
        text = (ROOT / name).read_text(encoding="utf-8")
        macros = set(re.findall(r"^([A-Z_0-9]+) =", text, re.M))
        assert macros <= dials, name
        count = max(len(each - {"RUN", "WORKDIR"}) for each in found)
        assert count <= 25, f"{name}: too many dials"


def test_a_run_takes_every_device_and_sample_data():
    """What it uses of an overlay has the overlay's value."""
    devices = [name for name in GIN_FILES if name.startswith("gin/device/")]
    sample = ["gin/data/sample.gin"]
    for overlays, runs in (
        (devices, "zero_shot/race evaluate generate view report"),
        (sample, "pretrain finetune/cola grid zero_shot/race evaluate"),
    ):
        for run, overlay in itertools.product(runs.split(), overlays):
            names, settings = parse_command(commands_of(f"gin/{run}.gin")[0])
            own = bindings.read([overlay], []).bound
            settings = [s for s in settings if s.split()[0] not in own]
            found = config.resolve([*names, overlay], settings, "out/x").bound
            taken = own.keys() & found.keys()
            assert {k: found[k] for k in taken} == {k: own[k] for k in taken}


def test_numbers_of_the_paper():
    """Section 4.1, "Model specifications" and "Fine-tuning details"."""
    for name, expected in {
        "gin/pretrain.gin": {
            **{"NUM_LAYERS": 12, "NUM_HEADS": 12, "HIDDEN_DIM": 768},
            **{"INTERMEDIATE_DIM": 3072, "NUM_POSITIONS": 512, "DROPOUT": 0.1},
            **{"BATCH_SIZE": 64, "SEQUENCE_LENGTH": 512, "NUM_EPOCHS": 100},
            **{"PEAK_LEARNING_RATE": 2.5e-4, "WARMUP_STEPS": 2000},
            "WEIGHT_DECAY": 0.01,
        },
        "gin/finetune/cola.gin": {
            **{"NUM_EPOCHS": 3, "BATCH_SIZE": 32, "LM_LOSS_WEIGHT": 0.5},
            **{"PEAK_LEARNING_RATE": 6.25e-5, "WARMUP_FRACTION": 0.002},
        },
        # README.md, "Your own labelled rows".
        "gin/finetune/custom.gin": {
            "custom.custom.dev_fraction": 0.1,
            "finetune.FineTuning.min_epochs": 3,
            "finetune.FineTuning.min_steps": 300,
            "finetune.FineTuning.min_dev_examples": 200,
        },
    }.items():
        found = bindings.read([name], [])
        bound = {k: found.value(v) for k, v in found.bound.items()}
        assert expected.items() <= bound.items()


def test_overlays_include_nothing():
    """An include would reset the macros of the files before."""
    commands = [c for name in GIN_FILES for c in commands_of(name)]
    overlays = {name for c in commands for name in parse_command(c)[0][1:]}
    overlays |= {name for name in GIN_FILES if name.startswith(FRAGMENTS)}
    for name in overlays:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"^\s*include\b", text, re.MULTILINE), name


def test_commands_in_documents_parse():
    documents = ["README.md", "RESULTS.md", "WORKSPACE.md", "tools/serve.md"]
    pages = [*map(ROOT.joinpath, documents), *ROOT.glob("docs/*.md")]
    for page in [*pages, *ROOT.glob("docs/tutorial/*.md")]:
        found = commands(page.read_text(encoding="utf-8"))
        assert found or page.parent != ROOT
        for command in found:
            # A config.gin in out/ is there only after the run.
            if "--gin out/" not in command and "--list" not in command:
                resolve(command)


def test_pretraining_loads_no_task_code():
    program = (
        "import sys; from gpt1_keras import config;"
        "config.resolve(['gin/pretrain.gin'], []);"
        "print([m for m in sys.modules if m.startswith('gpt1_keras.tasks')])"
    )
    result = processes.python("-c", program)
    assert result.stdout == "[]\n", result.stderr
