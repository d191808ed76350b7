"""The index, the mirror of tests, and habits that a look at text can check."""

import ast
import itertools
import pathlib
import re
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKSPACE = ROOT / "WORKSPACE.md"
TEXT_SUFFIXES = {
    *(".py", ".gin", ".md", ".sh", ".toml", ".txt", ".json", ".jsonl"),
    *(".yml", ".ipynb", ""),
}
# What documents name in a workdir, not in the repository.
WRITTEN_BY_RUNS = {
    *("out", "config.gin", "metrics.jsonl", "result.json"),
    *("checkpoints", "preset", "plots", "tensorboard"),
}


def modules():
    """Paths of the package's modules, relative to the repository."""
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "gpt1_keras").rglob("*.py")
        if path.name != "__init__.py"
    )


def gin_files():
    return sorted(
        path.relative_to(ROOT).as_posix() for path in ROOT.glob("gin/**/*.gin")
    )


def repository_files():
    """Text files under version control or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [p for p in paths if p.is_file() and p.suffix in TEXT_SUFFIXES]


def tree_paths(text):
    """Paths of the tree in section "Tree".

    Two spaces a level; the names first, then what they are:

        gpt1_keras/
          data/
            books.py shards.py     text and ids

    names gpt1_keras/, gpt1_keras/data/, gpt1_keras/data/books.py and
    gpt1_keras/data/shards.py.
    """
    block = text.split("## Tree")[1].split("```")[1]
    paths, above = [], []
    for line in block.splitlines()[1:]:
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        names = itertools.takewhile(
            lambda word: re.fullmatch(r"[\w.-]*\w(/|\.[a-z]+)", word),
            line.split(),
        )
        above = above[:depth]
        for name in names:
            paths.append("/".join([*above, name]))
        above.append(name.rstrip("/"))
    return paths


def quoted_paths(text):
    """Everything in backticks that reads like a path of the repository."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for quoted in re.findall(r"`([^`\n]+)`", outside):
        is_path = re.fullmatch(r"[\w./]+(/|\.(py|gin|sh|md|txt|toml))", quoted)
        if is_path and quoted.partition("/")[0] not in WRITTEN_BY_RUNS:
            yield quoted


def test_tree_paths_reads_indentation():
    text = "## Tree\n```\na/\n  b/  x\n    c.py g.py  y\n  d.py\ne.md\n```\n"
    assert tree_paths(text) == [
        *("a/", "a/b/", "a/b/c.py", "a/b/g.py", "a/d.py", "e.md"),
    ]


def test_every_path_in_the_index_exists():
    text = WORKSPACE.read_text(encoding="utf-8")
    quoted = list(quoted_paths(text))
    tree = tree_paths(text)
    assert len(quoted) > 10 and len(tree) > 10
    missing = [path for path in quoted + tree if not (ROOT / path).exists()]
    assert not missing


def test_every_path_in_the_readme_exists():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [p for p in quoted_paths(text) if not (ROOT / p).exists()]
    assert not missing


def test_every_module_stands_once_in_the_tree():
    tree = tree_paths(WORKSPACE.read_text(encoding="utf-8"))
    in_package = sorted(
        path
        for path in tree
        if path.startswith("gpt1_keras/") and path.endswith(".py")
    )
    # One package has a tree of its own.
    own = "gpt1_keras/sample_world/__init__.py"
    text = (ROOT / own).read_text(encoding="utf-8")
    inside = [f"gpt1_keras/{path}" for path in tree_paths(text)]
    assert not [path for path in inside if not (ROOT / path).exists()]
    in_package += [path for path in inside if path.endswith(".py")]
    assert sorted(in_package) == modules()


def test_index_is_short():
    assert len(WORKSPACE.read_text(encoding="utf-8").splitlines()) < 240


@pytest.mark.parametrize("module", modules())
def test_every_module_has_its_test(module):
    inside = pathlib.PurePosixPath(module).relative_to("gpt1_keras")
    test = ROOT / "tests" / inside.with_name(f"{inside.stem}_test.py")
    assert test.exists(), f"{test.relative_to(ROOT)} is missing"


def test_gin_folder_is_no_python_package():
    """It would hide the installed gin-config."""
    assert not list((ROOT / "gin").rglob("__init__.py"))


@pytest.mark.parametrize("name", gin_files())
def test_gin_file_says_how_to_run_it_and_what_to_expect(name):
    header = (ROOT / name).read_text(encoding="utf-8").partition("\n\n")[0]
    assert re.search(r"^# Run: +\S", header, re.MULTILINE)
    assert re.search(r"^# Expected: +\S", header, re.MULTILINE)


def test_wheel_carries_every_folder():
    with open(ROOT / "pyproject.toml", "rb") as file:
        declared = tomllib.load(file)["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "gpt1_keras").rglob("*.py")
    }
    assert set(declared) == folders | {"gpt1_keras.gin", "gpt1_keras.presets"}


def test_no_function_is_too_long_to_see():
    found = []
    for path in repository_files():
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > 70:
                    found.append(f"{path}:{node.lineno}: {lines} lines")
    assert not found


def test_file_names_say_something():
    empty = {"utils", "util", "common", "helpers", "misc"}
    assert not [p for p in repository_files() if p.stem in empty]


# Written in parts, so that this file does not match itself.
FORBIDDEN = {
    "a path of one machine": "|".join(
        f"/{name}/"
        for name in ("work", "farm", "root", "opt", "home/" + r"\w+")
    ),
    "a package registry": "|".join(
        ("pypi" + r"\.org", "pythonhosted" + r"\.", "--index" + "-url")
        + ("download" + r"\.pytorch", "--find" + "-links")
    ),
    "how the work was organised": "|".join(
        (
            r"\bissue" + r" #?\d",
            r"\bthis " + "session",
            r"\bthe " + "lead" + r"\b",
        )
    ),
    "left open": r"\b("
    + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X"))
    + r")\b",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_contains(what):
    pattern = re.compile(FORBIDDEN[what])
    found = []
    for path in repository_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {match[0]}")
    assert not found


@pytest.mark.parametrize(
    "what, text",
    [
        ("a path of one machine", "open('" + "/home/" + "me/x')"),
        ("a package registry", "https://" + "pypi" + ".org/simple"),
        ("how the work was organised", "see issue" + " 3"),
        ("left open", "# TO" + "DO: later"),
    ],
)
def test_patterns_find_what_they_are_for(what, text):
    assert re.search(FORBIDDEN[what], text)
