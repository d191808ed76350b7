"""Every gin file is parsed by the command in its own header.

Checked for each command: it parses, every macro in it is used, and the run
gets all its arguments. The commands in README.md and WORKSPACE.md likewise.
"""

import pathlib
import re
import shlex

import gin
import pytest

from gpt1_keras import config

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIN_FILES = sorted(
    path.relative_to(ROOT).as_posix() for path in ROOT.glob("gin/**/*.gin")
)
OVERLAYS = (
    *("gin/model/", "gin/data/", "gin/device/", "gin/ablation/"),
    "gin/finetune/mini.gin",
    "gin/finetune/tiny.gin",
)
MAIN = "python -m gpt1_keras.main "


@pytest.fixture(autouse=True)
def clean_gin():
    yield
    gin.clear_config()


def commands(text):
    """All main commands in `text`; a backslash continues a line."""
    text = re.sub(r"\\\n#?\s*", "", text)
    return [line for line in re.findall(rf"{MAIN}[^`\n|]*", text)]


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
    names, settings = parse_command(command)
    return config.resolve(names, settings, "out/x")


def command_of(name):
    """The command that uses gin file `name`, from headers."""
    header = (ROOT / name).read_text(encoding="utf-8").partition("\n\n")[0]
    included = re.search(r"^# Run: +included by (\S+\.gin)$", header, re.M)
    if included:
        text = (ROOT / included[1]).read_text(encoding="utf-8")
        assert f"include '{name}'" in text
        return command_of(included[1])
    command = commands(header)[0]
    assert name in parse_command(command)[0]
    return command


def test_commands_join_continued_lines():
    text = f"# Run:   {MAIN}--gin a.gin \\\n#     --set \"A = 'b'\"\n# Next\n"
    (command,) = commands(text)
    assert parse_command(command) == (["a.gin"], ["A = 'b'"])


@pytest.mark.parametrize("name", GIN_FILES)
def test_command_in_the_header_parses_and_uses_every_macro(name):
    found = resolve(command_of(name))
    unused = found.bindings.macros.keys() - found.bindings.used_macros(
        "RUN", "WORKDIR", "EXTEND"
    )
    assert not unused
    config.check_arguments(found, ("workdir", "config_sha256"))


@pytest.mark.parametrize(
    "name", [name for name in GIN_FILES if name.startswith(OVERLAYS)]
)
def test_overlays_include_nothing(name):
    """An include would reset the macros of the files before."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"^\s*include\b", text, re.MULTILINE)


@pytest.mark.parametrize(
    "document", ["README.md", "WORKSPACE.md", "tools/serve.md"]
)
def test_commands_in_documents_parse(document):
    found = commands((ROOT / document).read_text(encoding="utf-8"))
    # A config.gin in out/ is there only after the run.
    found = [command for command in found if "--gin out/" not in command]
    assert found
    for command in found:
        resolve(command)
