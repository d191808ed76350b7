"""Through `gpt1_keras.main` without frameworks, and what the page shows."""

import base64
import csv
import html.parser
import re

import markdown_it
import pytest

from gpt1_keras.runs import report
from tests.reference import data_files
from tests.reference import fake_workdirs
from tests.reference import processes

PROGRAM = """
import sys
for name in ("tensorflow", "keras", "keras_hub", "jax", "torch"):
    sys.modules[name] = None
from gpt1_keras import main
sys.exit(main.main(sys.argv[1:]))
"""


def test_report_of_two_folders_twice(tmp_path):
    out = tmp_path / "out"
    fake_workdirs.finetune(out / "rte", "rte", {"accuracy": 0.4321})
    lines = [{"step": 1, "split": "held_out", "perplexity": 80.0}]
    fake_workdirs.pretrain(tmp_path / "books", lines)
    before = data_files.contents(out)
    for workdir in ("out/report", None):  # None: that of the gin file
        command = processes.arguments(
            ["gin/report.gin"], workdir, RESULTS=("out", "books")
        )
        # Another program's backend of matplotlib does no harm.
        done = processes.python(
            "-c", PROGRAM, *command, cwd=tmp_path, MPLBACKEND="absent"
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0, output
        text = (out / "report" / "report.html").read_text()
        assert "43.2" in text and "books" in text
        assert not (out / "report" / "result.json").exists()
        assert (out / "report" / "plots" / "learning_curves.png").exists()
        # The next report finds one more run, and a damaged one; its own folder
        # is none.
        fake_workdirs.finetune(out / "cola", "cola", {"matthews": 0.1234})
        data_files.write(tmp_path, "books/x/metrics.jsonl", [{"loss": 2.0}])
    assert "12.3" in text and "out/report" not in text
    assert "books/x/metrics.jsonl:1: damaged, expected a step" in text
    assert "books/x is left out" in output
    after = data_files.contents(out)
    assert {path: after[path] for path in before} == before


def test_report_of_the_measured_results(tmp_path):
    """`docs/results/report.md` is what the command in RESULTS.md writes."""
    command = processes.arguments(
        ["gin/report.gin"], tmp_path, RESULTS="docs/results"
    )
    done = processes.python("-m", "gpt1_keras.main", *command)
    assert done.returncode == 0, done.stderr
    kept = processes.ROOT / "docs" / "results" / "report.md"
    assert (tmp_path / "report.md").read_text() == kept.read_text()


SST2 = {"metric": "accuracy", "random": 0.5, "state_of_the_art": 0.9}
CONSTANTS = {"sst2": SST2 | {"source": "a <book> & more"}}
PAPER = {"rte": {"accuracy": 0.56}, "mnli": {"accuracy_matched": 0.821}}
TABLE_5 = {"full": {"average": 0.747, "rte": 0.56}}
# Elements that have no end.
VOID = {"meta", "img", "br", "wbr", "link", "input", "hr"}


class Page(html.parser.HTMLParser):
    """Checks that elements close, and keeps what a test asks for."""

    def __init__(self, text):
        super().__init__()
        self.text, self.open, self.tables = text, [], []
        self.elements = []  # (tag, its attributes)
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data.strip()

    def values(self, wanted, name):
        """An attribute of all elements of a tag."""
        return [each[name] for tag, each in self.elements if tag == wanted]

    def cells(self):
        """All cells; every table has rows of one length."""
        for table in self.tables:
            assert {len(row) for row in table} == {len(table[0])}
        return [cell for table in self.tables for row in table for cell in row]


def write(folder, directory):
    numbers = {"constants": CONSTANTS, "paper": PAPER, "table5": TABLE_5}
    path = report.report(workdir=directory, results=str(folder), **numbers)
    assert path == directory / "report.html"
    return path.read_text(encoding="utf-8")


def fill(folder):
    """Workdirs for every section; docs/results has other kinds, too."""
    metrics = {"accuracy": 0.4321}
    lines = fake_workdirs.evaluations("accuracy", (0.4, 0.6), (0.5, 0.8))
    for name, options in {
        "full": {},
        "none": {"NUM_TRANSFERRED_LAYERS": -1},
        "some": {"NUM_TRANSFERRED_LAYERS": 1},
        "no_lm": {"LM_LOSS_WEIGHT": 0.0, "WEIGHT_DECAY": 0.5},
    }.items():
        fake_workdirs.finetune(folder / name, "rte", metrics, **options)
        data_files.write(folder / name, "metrics.jsonl", lines)
    evaluated = {"run": "evaluate", "task": "rte", "metrics": {"accuracy": 0.4}}
    data_files.write(folder, "dev/result.json", evaluated)
    data_files.write(folder, "dev/plots/confusion.png", b"a matrix")
    fake_workdirs.pretrain(
        folder / "pretrain",
        [
            {"step": 1, "perplexity": 90.0},
            {"step": 1, "split": "held_out", "perplexity": 80.0},
            {"step": 1, "split": "probes", "sst2_accuracy": 0.6},
            {"step": 2, "split": "probes", "sst2_accuracy": 0.7},
        ],
    )
    fake_workdirs.write_config(folder / "begun", "pretrain.pretrain", SEED=1)
    lines = [{"step": i, "split": "held_out", "perplexity": i} for i in (6, 7)]
    data_files.write(folder, "begun/metrics.jsonl", lines)
    view = {
        **{"run": "view", "pieces": ["tide ", "<i>"]},
        **{"log_probabilities": [-1.0, -4.5], "attention": "plots/a.png"},
    }
    data_files.write(folder, "view/result.json", view)
    data_files.write(folder, "view/plots/a.png", b"a picture")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Below it `out/` with a workdir of each kind, and `report/` of them."""
    folder = tmp_path_factory.mktemp("report")
    fill(folder / "out")
    write(folder / "out", folder / "report")
    return folder


def test_page_is_whole_and_stands_alone(folder):
    page = Page((folder / "report/report.html").read_text(encoding="utf-8"))
    text, images = page.text, page.values("img", "src")
    assert "7" in page.cells() and "6" not in page.cells()
    assert not {"script", "link"} & {tag for tag, _ in page.elements}
    assert not re.search(r"(src|href)=\"(?!data:image/png;base64,|#)", text)
    assert "http" not in text and "@import" not in text and "url(" not in text
    assert len(images) == 6 and all(page.values("img", "alt"))
    names = ("figure2_left", "figure2_right", "learning_curves")
    paths = [f"report/plots/{n}.png" for n in (*names, "fine_tuning_curves")]
    paths += ["out/dev/plots/confusion.png", "out/view/plots/a.png"]
    for image, path in zip(images, paths, strict=True):
        content = base64.b64decode(image.partition(",")[2])
        assert content == (folder / path).read_bytes()
    links = [link.removeprefix("#") for link in page.values("a", "href")]
    assert set(links) < {each.get("id") for _, each in page.elements}
    assert len(links) == 7 and len(page.tables) == 5


def test_the_figures_have_their_numbers_as_csv(folder):
    def read(name, *columns):
        with open(folder / "report" / f"{name}.csv") as file:
            return [[r[c] for c in columns] for r in csv.DictReader(file)]

    left = read("figure2_left", "task", "num_transferred_layers", "score")
    assert left == [["rte", k, "0.4321"] for k in ("-1", "1", "12")]
    right = read("figure2_right", "task", "step", "score", "relative")
    scores = [(*row[:3], round(float(row[3]), 6)) for row in right]
    assert scores == [("sst2", "1", "0.6", 0.25), ("sst2", "2", "0.7", 0.5)]
    found = read("fine_tuning_curves", "ablation", "split", "step", "score")
    assert len(found) == 16
    assert found[0] == ["full", "dev", "100", "0.4"]
    assert found[1] == ["full", "train_sample", "100", "0.6"]


def test_names_are_escaped_and_a_lost_picture_is_left_out(tmp_path):
    folder = tmp_path / "a<b>&c|`d\ne *f*"
    fill(folder)
    (folder / "view/plots/a.png").unlink()
    text = write(folder, tmp_path / "report")
    assert "a <book> & more" not in text and "a &lt;book&gt; &amp; more" in text
    assert "a<b>&c" not in text
    page = Page(text)
    assert str(folder / "full") in page.cells()
    markdown = markdown_it.MarkdownIt("commonmark").enable("table")
    text_of_markdown = (tmp_path / "report/report.md").read_text()
    other = Page(markdown.render(text_of_markdown))
    # Markdown has small print in parentheses.
    shown, expected = (
        [re.sub(r"[\s();]", "", cell) for cell in each.cells()]
        for each in (other, page)
    )
    assert shown == expected
    assert len(other.values("img", "src")) == 5
    assert "&lt;i&gt;</span>" in text and "0.450)" in text
    assert len(page.values("img", "src")) == 5
