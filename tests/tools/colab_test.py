"""The notebook: its form, its choices, and all of it from top to bottom."""

import json
import re

import pytest

from tests.reference.processes import ROOT

NOTEBOOK = ROOT / "tools" / "colab.ipynb"
# So small that it learns nothing, in place of what stands in the notebook.
SMALL = {
    "NUM_STEPS": 20,
    "NUM_EPOCHS": 1,
    "PRETRAINING_SETTINGS": {
        "sources.Corpus.sample_words": 20000,
        **{"VOCABULARY_SIZE": 400, "NUM_LAYERS": 1},
        **{"WARMUP_STEPS": 3, "BATCH_SIZE": 8},
        "fit.Intervals.evaluation_steps": 10,
        "held_out.Evaluation.tokens": 300,
        "held_out.Evaluation.final_tokens": 300,
        "fit.Intervals.sample_steps": 0,
    },
    "FINE_TUNING_SETTINGS": {"NUM_TRAIN_EXAMPLES": 64},
}


def cells():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def source(name):
    (found,) = [cell for cell in cells() if cell["id"] == name]
    return "".join(found["source"])


def test_names_files_that_exist_and_sizes_that_are_used():
    text = "".join("".join(cell["source"]) for cell in cells())
    named = set(re.findall(r"gin/[\w/]+\.gin|tools/\w+\.py", text))
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
    names = {}
    exec(source("parameters"), names)
    assert SMALL.keys() < names.keys()
    assert all(text.count(name) > 1 for name in names if name.isupper())


def printed(outputs):
    return "".join(output.get("text", "") for output in outputs)


@pytest.mark.slow
def test_from_top_to_bottom(tmp_path, monkeypatch, cache):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

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
    executed = {
        cell.id: cell.outputs
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
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
