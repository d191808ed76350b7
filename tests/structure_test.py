"""The structure that WORKSPACE.md describes, held against the code."""

import ast
import graphlib
import os
import re
import subprocess
import tomllib

import pytest

from tests.reference import processes
from tests.reference.processes import ROOT

PACKAGE = ROOT / "gpt1_keras"

# Folders in the order in which data flows: each imports itself and what
# stands before it. The modules beside the folders come first, `main` last.
BASE = (
    *("errors", "files", "checks", "console", "results"),
    *("public_names", "bindings", "device", "precision", "config", "workdir"),
)
ORDER = (
    *("text", "layers", "data", "models", "training", "tasks", "evaluation"),
    *("serving", "convert", "runs"),
)
# Tasks name their metrics, which need nothing but numpy and scikit-learn.
EXCEPTIONS = {("tasks", "evaluation.metrics")}
# Only the runs' data sources generate data.
GENERATED = "sample_world"
# Framework -> how the name of a module says that it is for it alone.
FRAMEWORKS = {
    "tensorflow": ("tensorflow", "tf_"),
    "tensorflow_text": ("tensorflow", "tf_"),
    "tf_keras": ("tensorflow", "tf_"),
    "jax": ("jax",),
    "torch": ("torch",),
}


# What the documents name in a workdir, not in the repository.
WRITTEN_BY_RUNS = {
    *("out", "config.gin", "metrics.jsonl", "result.json", "data", "books"),
    *("checkpoints", "preset", "plots", "tensorboard", "saved_model"),
    *("seed_1", "predictions.tsv", "report.html", "report.md", "tokens.html"),
}
TEXT_SUFFIXES = {
    *(".py", ".gin", ".md", ".sh", ".toml", ".txt", ".json", ".jsonl"),
    *(".yml", ".ipynb", ""),
}


def module_names():
    """Return the dotted names below gpt1_keras, packages without __init__."""
    names = (
        path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        for path in PACKAGE.rglob("*.py")
    )
    return sorted(name.removesuffix(".__init__") for name in names)


def imported(name, *, at_import_only=False):
    """Return full dotted names; `at_import_only`: not those in functions."""
    path = PACKAGE.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    pending, names = [ast.parse(path.read_text(encoding="utf-8"))], []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not (at_import_only and is_function):
            pending += ast.iter_child_nodes(node)
    return names


def ours(name):
    """Return the modules of gpt1_keras that a module imports."""
    known = set(module_names())
    found = set()
    for full in imported(name):
        if full.startswith("gpt1_keras."):
            inside = full.removeprefix("gpt1_keras.")
            found.add(inside if inside in known else inside.rpartition(".")[0])
    return found


def rank(name):
    """Return the place of a module in the flow of data."""
    top = name.partition(".")[0]
    if top in BASE or name in ("", "__init__"):
        return -1
    return ORDER.index(top) if top in ORDER else len(ORDER)


def test_data_flows_one_way():
    wrong = [
        f"{name} imports {other}"
        for name in module_names()
        if name != "__init__" and not name.startswith(GENERATED)
        for other in ours(name)
        if rank(other) > rank(name)
        and (name.partition(".")[0], other) not in EXCEPTIONS
        and not (name == "runs.sources" and other.startswith(GENERATED))
    ]
    assert not wrong


def test_imports_run_in_no_circle():
    graph = {name: ours(name) - {name} for name in module_names()}
    # Raises CycleError, which names the modules.
    graphlib.TopologicalSorter(graph).prepare()


def is_for(name, framework):
    stem = name.rpartition(".")[2]
    return any(mark in stem for mark in FRAMEWORKS[framework])


def test_frameworks_are_imported_where_the_name_says_so():
    wrong = [
        f"{name} imports {framework}"
        for name in module_names()
        for full in imported(name, at_import_only=True)
        for framework in {full.partition(".")[0]} & FRAMEWORKS.keys()
        if not is_for(name, framework)
    ]
    assert not wrong


@pytest.mark.backends
def test_package_imports_without_tensorflow():
    pytest.importorskip("jax")
    names = [
        f"gpt1_keras.{name}"
        for name in module_names()
        if not any(is_for(name, framework) for framework in FRAMEWORKS)
    ]
    program = f"""
import importlib, sys
for name in ("tensorflow", "tensorflow_text", "tf_keras"):
    sys.modules[name] = None
for name in {names}:
    importlib.import_module(name.removesuffix(".__init__"))
print("all imported")
"""
    result = processes.python("-c", program, KERAS_BACKEND="jax")
    assert result.stdout.endswith("all imported\n"), result.stderr


def quoted_paths(text):
    """Yield everything in backticks that reads like a repository path."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for quoted in re.findall(r"`([^`\n]+)`", outside):
        is_path = re.fullmatch(r"[\w./]+(/|\.(py|gin|sh|md|txt|toml))", quoted)
        if is_path and quoted.partition("/")[0] not in WRITTEN_BY_RUNS:
            yield quoted


def test_every_path_that_the_documents_name_exists():
    pages = [ROOT / "README.md", ROOT / "WORKSPACE.md", *ROOT.glob("docs/*.md")]
    pages += [*ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/ko/*.md")]
    quoted = [
        (str(page.relative_to(ROOT)), path)
        for page in pages
        for path in quoted_paths(page.read_text(encoding="utf-8"))
    ]
    assert len(quoted) > 50
    assert not [each for each in quoted if not (ROOT / each[1]).exists()]


def test_the_index_names_every_folder():
    text = (ROOT / "WORKSPACE.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not [name for name in folders if f"{name}/" not in text]
    assert len(text.splitlines()) <= 160


def test_wheel_carries_every_folder():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = project["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in PACKAGE.rglob("*.py")
    }
    assert set(declared) == folders | {"gpt1_keras.gin", "gpt1_keras.presets"}


# Written in parts, so that this file does not match itself; each with an
# example that shows that the pattern finds what it is for.
FORBIDDEN = (
    (r"/(work|farm|root|opt|ho" + r"me/\w+)/", "/ho" + "me/me/x"),
    (r"py" + r"pi\.org|--index" + "-url|--find" + "-links", "py" + "pi.org"),
    (r"\bissue" + r" #?\d|\bthis " + "session", "see issue" + " 3"),
    (r"\b(TO" + "DO|FIX" + "ME|XX" + r"X)\b", "# TO" + "DO: later"),
)


def test_no_file_names_a_machine_or_how_the_work_was_organised():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    assert ".venv" not in listed.stdout.splitlines()  # a link is ignored, too
    texts = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        assert path.stem not in {"utils", "util", "common", "helpers", "misc"}
        if path.is_file() and path.suffix in TEXT_SUFFIXES:
            texts[name] = path.read_text(encoding="utf-8", errors="replace")
    for pattern, example in FORBIDDEN:
        assert re.search(pattern, example)
        for name, text in texts.items():
            found = re.search(pattern, text)
            assert not found, f"{name}: {found[0]}"


def test_extras_are_pinned_as_in_the_requirements():
    pinned = "".join(p.read_text() for p in ROOT.glob("requirements*.txt"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in project["optional-dependencies"].values():
        assert set(extra) <= set(pinned.split())


def test_korean_pages_have_the_commands_and_figures_of_the_english():
    def facts(path):
        text = path.read_text("utf-8")
        blocks = re.findall(r"^(```|\$\$)\n?(.*?)^\1", text, re.M | re.S)
        return blocks, sorted(re.findall(r"\d+\.\d+", text))

    assert facts(ROOT / "README.ko.md") == facts(ROOT / "README.md")
    english = ROOT / "docs/tutorial"
    names = sorted(os.listdir(english))
    assert names == sorted(os.listdir(ROOT / "docs/ko"))
    for name in names:
        assert facts(ROOT / "docs/ko" / name) == facts(english / name), name
