"""Imports go one way, and no framework is needed that is not in use."""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gpt1_keras"
MODULES = sorted(
    path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")
)

# Folder -> what its modules may import besides their own folder, as folders
# or modules of gpt1_keras. Those of EVERYWHERE may be imported by anything.
EVERYWHERE = {"dials", "errors", "files", "progress"}
ALLOWED = {
    "text": set(),
    "layers": set(),
    "training": set(),
    "evaluation": {"bindings"},
    "data": {"text"},
    "serving": {"text", "data.tf_transforms"},
    "models": {"layers", "text", "data.transforms"},
    "convert": {"models", "text"},
    "sample_world": {"data.examples"},
    "tasks": {"data", "layers.heads", "training.losses", "evaluation.metrics"},
    "runs": {
        *("text", "data", "tasks", "layers", "models", "training"),
        *("evaluation", "convert", "serving", "gin_reader", "sample_world"),
    },
    # The modules beside the folders: main and what reads the configuration.
    "": {"bindings", "configuration", "gin_reader", "start_up", "workdir"},
}
# Framework -> how the names of modules say that they are for it alone.
FRAMEWORKS = {
    "tensorflow": ("tensorflow", "tf_"),
    "tensorflow_text": ("tensorflow", "tf_"),
    "tf_keras": ("tensorflow", "tf_"),
    "jax": ("jax",),
    "torch": ("torch",),
}


def imported(tree, *, at_import_only=False):
    """Full dotted names that `tree` imports, as far as the text tells.

    With `at_import_only`, leaves out imports inside functions.
    """
    names = []
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not (at_import_only and is_function):
            pending += ast.iter_child_nodes(node)
    return names


def may_import(importer, name):
    """Whether module `importer` (a path) may import gpt1_keras.`name`."""
    folder = importer.rpartition("/")[0].partition("/")[0]
    top = name.partition(".")[0]
    if top in EVERYWHERE or (folder and top == folder):
        return True
    return any(
        name == allowed or name.startswith(f"{allowed}.")
        for allowed in ALLOWED[folder]
    )


def is_for(module, framework):
    stem = pathlib.PurePosixPath(module).stem
    return any(mark in stem for mark in FRAMEWORKS[framework])


def parse(module):
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "importer, name, expected",
    [
        ("text/words.py", "data.books", False),
        ("data/books.py", "text.words", True),
        ("data/books.py", "data.shards", True),
        ("sample_world/world.py", "sample_world.tables", True),
        ("sample_world/world.py", "text.words", False),
        ("tasks/nli.py", "sample_world.corpus", False),
        ("layers/attention.py", "models.backbone", False),
        ("layers/attention.py", "errors", True),
        ("runs/pretrain.py", "training.losses", True),
        ("runs/pretrain.py", "main", False),
        ("training/step.py", "configuration", False),
        ("tasks/nli.py", "data.transforms.entailment", True),
        ("tasks/nli.py", "runs.finetune", False),
        ("main.py", "runs.pretrain", False),
        ("main.py", "configuration", True),
    ],
)
def test_rule(importer, name, expected):
    assert may_import(importer, name) == expected


def test_imports_inside_functions_are_told_apart():
    tree = ast.parse(
        "import a\nfrom b import c\ntry:\n  import d\nexcept E: pass\n"
        "def f():\n  import g\n"
    )
    assert set(imported(tree)) == {"a", "b.c", "d", "g"}
    assert set(imported(tree, at_import_only=True)) == {"a", "b.c", "d"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    ours = [
        name.removeprefix("gpt1_keras.")
        for name in imported(parse(module))
        if name.startswith("gpt1_keras.")
    ]
    wrong = [name for name in ours if not may_import(module, name)]
    assert not wrong, f"gpt1_keras/{module} imports {wrong}"


def frameworks_at_import(module):
    """Frameworks that `module` imports by itself when it is imported."""
    names = imported(parse(module), at_import_only=True)
    return {name.partition(".")[0] for name in names} & FRAMEWORKS.keys()


@pytest.mark.parametrize("module", MODULES)
def test_frameworks_are_imported_where_the_name_says_so(module):
    """Nobody needs a framework to import a module that is not for it."""
    needed = frameworks_at_import(module)
    for name in imported(parse(module), at_import_only=True):
        path = f"{name.removeprefix('gpt1_keras.').replace('.', '/')}.py"
        if name.startswith("gpt1_keras.") and path in MODULES:
            needed |= frameworks_at_import(path)
    foreign = [name for name in needed if not is_for(module, name)]
    assert not foreign, f"gpt1_keras/{module} imports {foreign}"


@pytest.mark.backends
def test_package_imports_without_tensorflow():
    pytest.importorskip("jax")
    names = [
        f"gpt1_keras.{module.removesuffix('.py').replace('/', '.')}"
        for module in MODULES
        if not any(is_for(module, framework) for framework in FRAMEWORKS)
    ]
    program = (
        "import importlib, sys\n"
        "for name in ('tensorflow', 'tensorflow_text', 'tf_keras'):\n"
        "    sys.modules[name] = None\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name.removesuffix('.__init__'))\n"
        "print('all imported')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("all imported\n")
