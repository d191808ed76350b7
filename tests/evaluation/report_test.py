import base64
import csv
import html.parser
import json
import pathlib
import re
import shutil

import markdown_it
import pytest

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import report
from tests.reference import fake_workdirs

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
        self.open, self.tags, self.anchors, self.images = [], [], set(), []
        self.links, self.tables, self.alternatives = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.anchors.add(attributes.get("id"))
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "img":
            self.images.append(attributes["src"])
            self.alternatives.append(attributes["alt"])
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


def write(folder, directory):
    runs, unreadable = comparison.find([folder])
    numbers = {"constants": CONSTANTS, "paper": PAPER, "table5": TABLE_5}
    path = report.write(runs, directory, unreadable=unreadable, **numbers)
    assert path == directory / "report.html"
    return path.read_text(encoding="utf-8")


def fill(folder):
    """A workdir of each kind, so that every section is there."""
    for name, options in {
        "full": {},
        "none": {"NUM_TRANSFERRED_LAYERS": -1},
        "some": {"NUM_TRANSFERRED_LAYERS": 1},
        "no_lm": {"LM_LOSS_WEIGHT": 0.0},
    }.items():
        run = fake_workdirs.finetune(
            folder / name, "rte", {"accuracy": 0.4321}, **options
        )
        lines = fake_workdirs.evaluations("accuracy", (0.4, 0.6), (0.5, 0.8))
        fake_workdirs.write_lines(run, lines)
    picture = ("confusion.png", b"a matrix")
    fake_workdirs.evaluate(folder / "dev", "rte", {"accuracy": 0.4}, picture)
    fake_workdirs.perplexity(folder / "novel")
    fake_workdirs.pretrain(
        folder / "pretrain",
        [
            {"step": 1, "perplexity": 90.0},
            {"step": 1, "split": "held_out", "perplexity": 80.0},
            {"step": 1, "split": "probes", "sst2_accuracy": 0.6},
            {"step": 2, "split": "probes", "sst2_accuracy": 0.7},
        ],
    )
    zero_shot = {
        **{"run": "zero_shot", "task": "sst2", "split": "dev"},
        **{"metrics": {"accuracy": 0.6789}, "num_examples": 872, "seed": None},
    }
    fake_workdirs.write_json(folder / "probe" / "result.json", zero_shot)
    view = {
        **{"run": "view", "pieces": ["tide ", "<i>"]},
        **{"log_probabilities": [-1.0, -4.5], "attention": "plots/a.png"},
    }
    fake_workdirs.write_json(folder / "view" / "result.json", view)
    picture = folder / "view" / "plots" / "a.png"
    picture.parent.mkdir()
    picture.write_bytes(b"a picture")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Below it `out/` with a workdir of each kind, and `report/` of them."""
    folder = tmp_path_factory.mktemp("report")
    fill(folder / "out")
    write(folder / "out", folder / "report")
    return folder


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "report" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_page_is_whole_and_stands_alone(folder, text, page):
    assert "script" not in page.tags and "link" not in page.tags
    assert not re.search(r"(src|href)=\"(?!data:image/png;base64,|#)", text)
    assert "http" not in text and "@import" not in text and "url(" not in text
    assert 'name="viewport"' in text and "@media print" in text
    assert len(page.images) == 6 and all(page.alternatives)
    for image, path in zip(
        page.images,
        (
            "report/plots/figure2_left.png",
            "report/plots/figure2_right.png",
            "report/plots/learning_curves.png",
            "report/plots/fine_tuning_curves.png",
            "out/dev/plots/confusion.png",
            "out/view/plots/a.png",
        ),
    ):
        content = base64.b64decode(image.partition(",")[2])
        assert content == (folder / path).read_bytes()
    assert {link.removeprefix("#") for link in page.links} < page.anchors
    assert len(page.links) == 9
    assert len(page.tables) == 10
    for table in page.tables:
        assert {len(row) for row in table} == {len(table[0])}


def test_numbers_stand_beside_the_paper_s_and_their_workdir(folder, page):
    (row,) = [row for row in page.tables[0] if row[0] == "RTE"]
    assert row[2:5] == ["43.21 seed", "", "56.0"]
    assert row[-1] == str(folder / "out" / "full")
    shown = {cell for table in page.tables for row in table for cell in row}
    names = ("full", "none", "some", "no_lm", "pretrain", "probe")
    for name in (*names, "dev", "novel"):
        assert str(folder / "out" / name) in shown
    assert "67.9" in shown


def test_perplexities_have_a_table_and_stand_among_all_results(folder, page):
    of_texts, everything = (
        table
        for table in page.tables
        if any(row[-1] == str(folder / "out" / "novel") for row in table)
    )
    assert of_texts[1][:3] == ["novel.txtall", "54.6", "321.5"]
    (row,) = [row for row in everything if row[0] == "perplexity"]
    assert "perplexity 54.6" in row[4]


def test_plots_of_evaluations_are_small(folder, text):
    (small,) = re.findall(r'<div class="small">\n<h3>(.+)</h3>', text)
    assert small == f"RTE, dev: {folder / 'out' / 'dev'}"


def test_markdown_says_the_same(folder):
    text = (folder / "report" / "report.md").read_text()
    for title in ("Benchmarks", "Ablations", "Language models", "All results"):
        assert f"## {title}\n" in text
    assert "| RTE | accuracy | 43.2 (1 seed) |  | 56.0 | 50.0 |" in text
    for picture in re.findall(r"!\[.+\]\((.+)\)", text):
        assert (folder / "report" / picture).is_file()
    assert text.count("![") == 6
    assert "](../out/view/plots/a.png)" in text


def test_names_are_escaped_and_a_lost_picture_is_left_out(tmp_path):
    folder = tmp_path / "a<b>&c|`d\ne *f*"
    fill(folder)
    (folder / "view/plots/a.png").unlink()
    text = write(folder, tmp_path / "report")
    assert "a <book> & more" not in text and "a &lt;book&gt; &amp; more" in text
    assert "a<b>&c" not in text
    page = Page(text)
    shown = [cell for table in page.tables for row in table for cell in row]
    assert str(folder / "full") in shown
    markdown = markdown_it.MarkdownIt("commonmark").enable("table")
    text_of_markdown = (tmp_path / "report/report.md").read_text()
    other = Page(markdown.render(text_of_markdown))
    assert list(map(len, other.tables)) == list(map(len, page.tables))
    for table in other.tables:
        assert {len(row) for row in table} == {len(table[0])}
    shown = [cell for table in other.tables for row in table for cell in row]
    assert " ".join(str(folder / "full").split()) in shown
    assert len(other.images) == 5
    assert "&lt;i&gt;</span>" in text and "0.450)" in text
    assert len(page.images) == 5


def test_nothing_is_drawn_or_said_of_what_is_not_there(tmp_path):
    metrics = {"accuracy": 0.4321, "f1": 0.25, "pearson": 0.125, "auc": 0.75}
    fake_workdirs.finetune(tmp_path / "a", "rte", metrics)
    # Summaries are not counted twice.
    for kind in ("grid", "submission"):
        summary = {"run": kind, "task": "rte", "metrics": {"rte": 0.9876}}
        fake_workdirs.write_json(tmp_path / "a" / kind / "result.json", summary)
    text = write(tmp_path / "a", tmp_path / "report")
    page = Page(text)
    assert page.images == []
    assert page.links == ["#benchmarks", "#ablations", "#all-results"]
    written = {p.name for p in (tmp_path / "report").rglob("*") if p.is_file()}
    assert written == {"report.html", "report.md"}
    (row,) = [row for row in page.tables[0] if row[0] == "MNLI-m"]
    assert row == ["MNLI-m", "accuracy", "", "", "82.1", *[""] * 6]
    assert "None" not in text and "nan" not in text
    assert "98.8" not in text and "0.9876" not in text
    # Sentences have some width on a phone.
    (wide,) = re.findall(r'<td class="long">(.+)</td>', text)
    assert wide == "accuracy 43.2; F1 25.0; Pearson 12.5; AUC 75.0"
    assert ".long { min-width: 18rem; }" in text


ODD = (None, True, 1e400, 10**400, "x\0", [1], {"a": "b"})


def test_no_damaged_workdir_kills_the_report(tmp_path):
    """Each value of each file in turn becomes something else."""
    fill(tmp_path / "out")
    number = 0
    config = tmp_path / "out" / "full" / "config.gin"
    for path in [*(tmp_path / "out").rglob("*.json*"), config]:
        whole = path.read_text()
        folder = next(p for p in path.parents if p.parent.name == "out")
        lines = whole.splitlines()
        damaged = [
            whole[: len(whole) // 2],
            "\0" + whole,
            whole * 2,
            "9" * 5000,
        ]
        if path.suffix != ".gin":
            found = json.loads(lines[-1])
            damaged += [
                "\n".join([*lines[:-1], json.dumps(found | {key: value}), ""])
                for key in found
                for value in ODD
            ]
        for text in damaged:
            number += 1
            copy = tmp_path / "damaged" / str(number)
            no_plots = shutil.ignore_patterns("plots")
            shutil.copytree(folder, copy, ignore=no_plots)
            (copy / path.relative_to(folder)).write_text(text)
    text = write(tmp_path, tmp_path / "report")
    assert "43.2" in text
    table = Page(text).tables[-1]
    assert table[0] == ["workdir", "reason"]
    assert len(table) > number / 4
    assert all("damaged" in row[1] for row in table[1:])


def fine_tuning(folder):
    found = comparison.join_seeds(comparison.find([folder])[0])
    chosen = paper_tables.choose_ablations(found)
    return report.fine_tuning(found, chosen, folder)


def test_curves_of_fine_tuning_and_their_numbers(tmp_path):
    lines = fake_workdirs.evaluations("accuracy", (0.25, 0.5))
    for name, examples in (("a", None), ("b", 8)):
        fake_workdirs.finetune(
            tmp_path / name,
            "rte",
            {"accuracy": 0.25},
            NUM_TRAIN_EXAMPLES=examples,
        )
    assert fine_tuning(tmp_path) is None
    for name in "ab":
        fake_workdirs.write_lines(tmp_path / name, lines)
    picture = fine_tuning(tmp_path)
    assert picture.path == tmp_path / "plots" / "fine_tuning_curves.png"
    assert picture.notes[1:] == [f"Only in the CSV: {tmp_path / 'b'}."]
    with open(picture.data, newline="") as file:
        rows = list(csv.DictReader(file))
    workdirs = [pathlib.Path(row["workdir"]).name for row in rows]
    assert workdirs == ["a", "a", "b", "b"]
    scores = {row["split"]: float(row["score"]) for row in rows}
    assert scores == {"dev": 0.25, "train_sample": 0.5}


def test_plots_of_evaluate_runs_and_their_page(tmp_path):
    for name, task, metric, picture in (
        ("a", "cola", "matthews", ("confusion.png", b"a")),
        ("b", "stsb", "pearson", ("scores.png", b"b")),
    ):
        fake_workdirs.evaluate(tmp_path / name, task, {metric: 0.1}, picture)
    (tmp_path / "b" / "tokens.html").write_text("a page")
    fake_workdirs.write_json(
        tmp_path / "unlabelled" / "result.json",
        {"run": "evaluate", "task": "cola", "split": "test", "metrics": {}},
    )
    shown = report.evaluations(comparison.find([tmp_path])[0])
    assert [(each.title, each.alternative) for each in shown] == [
        (f"CoLA, dev: {tmp_path / 'a'}", "Predicted against true classes."),
        (f"STS-B, dev: {tmp_path / 'b'}", "Predicted against true scores."),
    ]
    assert all(each.is_small for each in shown)
    assert [each.path.read_bytes() for each in shown] == [b"a", b"b"]
    page = tmp_path / "b" / "tokens.html"
    notes = [f"Its worst errors, token by token: {page}."]
    assert [each.notes for each in shown] == [[], notes]


@pytest.mark.parametrize("data", [None, "data"])
def test_generated_data_are_named_below_figure_2(tmp_path, data):
    lines = [{"step": 2, "split": "probes", "sst2_accuracy": 0.7}]
    fake_workdirs.pretrain(tmp_path / "books", lines, DATA_DIR=data)
    for layers in (None, 0, -1):
        macros = {"NUM_TRANSFERRED_LAYERS": layers, "DATA_DIR": data}
        folder = tmp_path / f"layers_{layers}"
        fake_workdirs.finetune(folder, "mnli", {"accuracy": 0.5}, **macros)
    write(tmp_path, tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text()
    for name in (tmp_path / "books", "MNLI"):
        note = f"\n\nGenerated sample data: {name}.\n"
        assert (note in text) == (data is None)
