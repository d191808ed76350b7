"""The site is built; commands and examples print what they show."""

import doctest
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.reference.processes import ROOT

CAUGHT = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
BLOCK = re.compile(r"^```(bash|python|text)\n(.*?)^```$", re.M | re.S)


def test_examples_in_the_docstrings_of_the_public_modules(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "".join(page.read_text() for page in ROOT.glob("docs/api/*.md"))
    names = re.findall(r"^::: (\S+)", text, re.MULTILINE)
    modules = {inspect.getmodule(pkgutil.resolve_name(name)) for name in names}
    results = [
        doctest.testmod(module, extraglobs={"np": np}) for module in modules
    ]
    assert sum(result.attempted for result in results) >= 15
    assert not sum(result.failed for result in results)


def without_numbers(text):
    return re.sub(r"-?\d[\d.,:]*(e[-+]?\d+)?", "#", text)


@pytest.mark.slow
def test_commands_print_what_the_pages_show(tmp_path):
    """In their order; `...` is anything, a number any number."""
    (tmp_path / "presets").symlink_to(ROOT / "presets")
    scripts = pathlib.Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        **{"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
        "GPT1_KERAS_CACHE": str(tmp_path / "cache"),
    }
    programs = {"bash": ["bash", "-ec"], "python": [sys.executable, "-c"]}
    navigation = (ROOT / "tools/mkdocs.yml").read_text("utf-8")
    pages = re.findall(r"tutorial/\w+\.md", navigation)
    assert len(pages) == len(list((ROOT / "docs/tutorial").iterdir()))
    for page in pages:
        printed = None
        text = (ROOT / "docs" / page).read_text("utf-8")
        for language, block in BLOCK.findall(text):
            if language == "text":
                for line in without_numbers(block).splitlines():
                    shown = line.partition("...")[0]
                    assert shown in printed, f"{page}: {line}\n{printed}"
                continue
            result = subprocess.run(
                [*programs[language], block],
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                timeout=1800,
                **CAUGHT,
            )
            print(f"--- {page}\n{block}---\n{result.stdout}")
            assert result.returncode == 0, f"{page}: {block}"
            printed = without_numbers(result.stdout)


@pytest.mark.slow
def test_site_is_built_without_dead_links():
    result = subprocess.run([ROOT / "tools/docs.sh"], timeout=600, **CAUGHT)
    assert result.returncode == 0, result.stdout
