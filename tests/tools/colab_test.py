"""The notebook: its form, its choices, and all of it from top to bottom."""

import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "tools" / "colab.ipynb"
# So small that it learns nothing, in place of what stands in the notebook.
SMALL = {
    "NUM_STEPS": 20,
    "NUM_EPOCHS": 1,
    "PRETRAINING_DIALS": {
        "sources.Corpus.sample_words": 20000,
        "VOCABULARY_SIZE": 400,
        "NUM_LAYERS": 1,
        "fit.Intervals.evaluation_steps": 10,
        "held_out.Evaluation.tokens": 300,
        "held_out.Evaluation.final_tokens": 300,
        "WARMUP_STEPS": 3,
        "BATCH_SIZE": 8,
        "fit.Intervals.sample_steps": 0,
    },
    "FINE_TUNING_DIALS": {"NUM_TRAIN_EXAMPLES": 64},
}


def cells():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def source(name):
    (found,) = [cell for cell in cells() if cell["id"] == name]
    return "".join(found["source"])


def test_is_a_valid_notebook():
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    # What Colab reads.
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.accelerator == "GPU"
    programs = [cell for cell in cells() if cell["cell_type"] == "code"]
    for cell in programs:  # Nothing is left of an execution.
        assert cell["outputs"] == [] and cell["execution_count"] is None
        assert not {"execution", "outputId"} & cell["metadata"].keys()


def test_names_files_that_exist_and_sizes_that_are_used():
    text = "".join("".join(cell["source"]) for cell in cells())
    named = set(re.findall(r"gin/[\w/]+\.gin|tools/\w+\.py", text))
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
    names = {}
    exec(source("parameters"), names)
    assert SMALL.keys() < names.keys()
    dials = {name for name in names if name.isupper()}
    assert not [name for name in dials if text.count(name) < 2]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a function that makes this machine look like another one."""
    for name in ("TPU_ACCELERATOR_TYPE", "COLAB_TPU_1VM"):
        monkeypatch.delenv(name, raising=False)

    def pretend(*, environment, gpus):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", str(tmp_path))
        if gpus is not None:
            tool = tmp_path / "nvidia-smi"
            tool.write_text(f"#!/bin/sh\necho '{gpus}'\n")
            tool.chmod(0o755)

    return pretend


@pytest.mark.parametrize(
    "environment, gpus, overlay, dtype, backend",
    [
        ({}, None, "cpu", None, "tensorflow"),
        ({"COLAB_TPU_1VM": ""}, "7.5", "gpu", "float32", "tensorflow"),
        ({}, "8.0", "gpu", "mixed_bfloat16", "tensorflow"),
        ({}, "9.0\n9.0", "mirrored", "mixed_bfloat16", "tensorflow"),
        ({}, "9.0\n7.0", "mirrored", "float32", "tensorflow"),
        # A driver without a GPU says so instead.
        ({}, "No devices were found", "cpu", None, "tensorflow"),
        ({"COLAB_TPU_1VM": "1"}, None, "jax_data_parallel", None, "jax"),
        (
            {"TPU_ACCELERATOR_TYPE": "v5e-1"},
            *(None, "jax_data_parallel", None, "jax"),
        ),
    ],
)
def test_finds_the_machine(machine, environment, gpus, overlay, dtype, backend):
    machine(environment=environment, gpus=gpus)
    names = {"os": os, "subprocess": subprocess}
    exec(source("device"), names)
    assert (names["overlay"], names["backend"]) == (overlay, backend)
    assert names["device_dials"].get("DTYPE") == dtype
    assert (ROOT / f"gin/device/{overlay}.gin").exists()


def test_tpu_with_its_own_tensorflow(machine, monkeypatch):
    machine(environment={"COLAB_TPU_1VM": "1"}, gpus=None)
    versions = {"tensorflow-tpu": "2.21"}
    monkeypatch.setattr(importlib.metadata, "version", versions.__getitem__)
    names = {"os": os, "subprocess": subprocess}
    exec(source("device"), names)
    assert names["overlay"] == "tpu"
    assert names["device_dials"]["strategy.Devices.tpu"] == "local"


def install(directory, url):
    """Run the installing cell in a process that knows no gpt1_keras."""
    program = f"REPOSITORY_URL, WORKDIR = {url!r}, 'out/x'\n{source('install')}"
    return subprocess.run(
        [sys.executable, "-E", "-S", "-c", program],
        cwd=directory,
        capture_output=True,
        text=True,
    )


def test_inside_the_project_nothing_is_installed():
    for folder in (ROOT, ROOT / "tools"):
        done = install(folder, "")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            f"project: {ROOT}",
            f"results: {ROOT / 'out/x'}",
        ]


def test_elsewhere_the_project_is_cloned_once(tmp_path):
    home = tmp_path / "home"
    for name, text in {
        "gpt1_keras/main.py": "",
        "tools/install_lacking.py": "print('installs')",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run(["git", *identity, *command], cwd=home, check=True)
    (tmp_path / "elsewhere").mkdir()
    refused = install(tmp_path / "elsewhere", "")
    assert refused.returncode != 0
    assert "Write the project's address" in refused.stderr
    expected = tmp_path / "elsewhere" / "gpt1_project"
    for _ in range(2):  # The second time it is there.
        done = install(tmp_path / "elsewhere", home.as_uri())
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-3:] == [
            "installs",
            f"project: {expected}",
            f"results: {expected / 'out/x'}",
        ]


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """The notebook, run in small: {id of a cell: its outputs}."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    place = [cell.id for cell in notebook.cells].index("parameters") + 1
    values = SMALL | {"WORKDIR": str(tmp_path / "out")}
    lines = [f"{name} = {value!r}" for name, value in values.items()]
    notebook.cells.insert(place, nbformat.v4.new_code_cell("\n".join(lines)))
    nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
    ).execute()
    return {
        cell.id: cell.outputs
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def printed(outputs):
    return "".join(output.get("text", "") for output in outputs)


@pytest.mark.slow
def test_from_top_to_bottom(executed, tmp_path):
    found = {
        name: json.loads((tmp_path / f"out/{name}/result.json").read_text())
        for name in ("pretrain", "sst2", "served")
    }
    (picture,) = [o for o in executed["plot"] if "data" in o]
    assert picture["data"]["image/png"].startswith("iVBOR")  # PNG in base64
    assert "It was".lower() in printed(executed["generate"]).lower()
    first = printed(executed["result"]).splitlines()[0]
    accuracy = found["sst2"]["metrics"]["accuracy"]
    assert first == f"{accuracy:.3f}  this network"
    names = {}
    exec(source("parameters"), names)
    lines = printed(executed["ask"]).splitlines()
    answers = [
        line for line in lines if re.match(r"(blame|praise) +\d\.\d\d", line)
    ]
    assert len(answers) == len(names["SENTENCES"])
    for line, sentence in zip(answers, names["SENTENCES"]):
        assert line.endswith(sentence)
        assert 0.5 <= float(line.split()[1]) <= 1
