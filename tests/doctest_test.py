"""The examples in the docstrings of docs/api give what they say."""

import doctest
import inspect
import pkgutil
import re

import numpy as np

from tests.reference.processes import ROOT


def test_examples_of_the_public_modules(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "".join(page.read_text() for page in ROOT.glob("docs/api/*.md"))
    names = re.findall(r"^::: (\S+)", text, re.MULTILINE)
    modules = {inspect.getmodule(pkgutil.resolve_name(name)) for name in names}
    results = [
        doctest.testmod(module, extraglobs={"np": np}) for module in modules
    ]
    assert sum(result.attempted for result in results) >= 15
    assert not sum(result.failed for result in results)
