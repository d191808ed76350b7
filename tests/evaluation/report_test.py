import base64
import html.parser
import re

import pytest

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import report
from tests.reference import fake_workdirs

CONSTANTS = {
    "sst2": {
        "metric": "accuracy",
        "random": 0.5,
        "state_of_the_art": 0.9,
        "source": "a <book> & more",
    },
}
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

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data.strip()


def write(folder, directory):
    path = report.write(
        comparison.find_runs([folder]),
        directory,
        constants=CONSTANTS,
        paper=PAPER,
        table5=TABLE_5,
    )
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


def test_page_is_whole_and_stands_alone(tmp_path):
    fill(tmp_path / "out")
    text = write(tmp_path / "out", tmp_path / "report")
    page = Page(text)
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
        assert content == (tmp_path / path).read_bytes()
    assert {link.removeprefix("#") for link in page.links} < page.anchors
    assert len(page.links) == 9


def test_every_row_is_as_long_as_its_header(tmp_path):
    fill(tmp_path / "out")
    page = Page(write(tmp_path / "out", tmp_path / "report"))
    assert len(page.tables) == 10
    for table in page.tables:
        assert {len(row) for row in table} == {len(table[0])}


def test_numbers_stand_beside_the_paper_s_and_their_workdir(tmp_path):
    fill(tmp_path / "out")
    page = Page(write(tmp_path / "out", tmp_path / "report"))
    (row,) = [row for row in page.tables[0] if row[0] == "RTE"]
    assert row[2:4] == ["43.21 seed", "56.0"]
    assert row[-1] == str(tmp_path / "out" / "full")
    shown = {cell for table in page.tables for row in table for cell in row}
    names = ("full", "none", "some", "no_lm", "pretrain", "probe")
    for name in (*names, "dev", "novel"):
        assert str(tmp_path / "out" / name) in shown
    assert "67.9" in shown


def test_views_are_taken_in(tmp_path):
    fill(tmp_path / "out")
    text = write(tmp_path / "out", tmp_path / "report")
    assert "&lt;i&gt;</span>" in text and "0.450)" in text
    markdown = (tmp_path / "report" / "report.md").read_text()
    assert "](../out/view/plots/a.png)" in markdown
    (tmp_path / "out/view/plots/a.png").unlink()
    assert "&lt;i&gt;</span>" in write(tmp_path / "out", tmp_path / "again")


def test_perplexities_have_a_table_and_stand_among_all_results(tmp_path):
    fill(tmp_path / "out")
    page = Page(write(tmp_path / "out", tmp_path / "report"))
    of_texts, everything = (
        table
        for table in page.tables
        if any(row[-1] == str(tmp_path / "out" / "novel") for row in table)
    )
    assert of_texts[1][:3] == ["novel.txtall", "54.6", "321.5"]
    (row,) = [row for row in everything if row[0] == "perplexity"]
    assert "perplexity 54.6" in row[4]


def test_sentences_have_some_width_on_a_phone(tmp_path):
    metrics = {"accuracy": 0.5, "f1": 0.25, "pearson": 0.125, "auc": 0.75}
    fake_workdirs.finetune(tmp_path / "a", "rte", metrics)
    text = write(tmp_path / "a", tmp_path / "report")
    (wide,) = re.findall(r'<td class="long">(.+)</td>', text)
    assert wide == "accuracy 50.0; F1 25.0; Pearson 12.5; AUC 75.0"
    assert ".long { min-width: 18rem; }" in text


def test_plots_of_evaluations_are_small(tmp_path):
    fill(tmp_path / "out")
    text = write(tmp_path / "out", tmp_path / "report")
    (small,) = re.findall(r'<div class="small">\n<h3>(.+)</h3>', text)
    assert small == f"RTE, dev: {tmp_path / 'out' / 'dev'}"


def test_nothing_is_drawn_or_said_of_what_is_not_there(tmp_path):
    fake_workdirs.finetune(tmp_path / "a", "rte", {"accuracy": 0.4321})
    text = write(tmp_path / "a", tmp_path / "report")
    page = Page(text)
    assert page.images == []
    assert page.links == ["#benchmarks", "#ablations", "#all-results"]
    written = {p.name for p in (tmp_path / "report").rglob("*") if p.is_file()}
    assert written == {"report.html", "report.md"}
    (row,) = [row for row in page.tables[0] if row[0] == "MNLI-m"]
    assert row == ["MNLI-m", "accuracy", "", "82.1", "", "", "", "", ""]
    assert "None" not in text and "nan" not in text


def test_texts_are_escaped(tmp_path):
    folder = tmp_path / "a<b>&c"
    fill(folder)
    text = write(folder, tmp_path / "report")
    assert "a <book> & more" not in text and "a &lt;book&gt; &amp; more" in text
    assert "a<b>&c" not in text
    shown = [
        cell for table in Page(text).tables for row in table for cell in row
    ]
    assert str(folder / "full") in shown


def test_markdown_says_the_same(tmp_path):
    fill(tmp_path / "out")
    write(tmp_path / "out", tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text()
    for title in ("Benchmarks", "Ablations", "Language models", "All results"):
        assert f"## {title}\n" in text
    assert "| RTE | accuracy | 43.2 (1 seed) | 56.0 | 50.0 |" in text
    for picture in re.findall(r"!\[.+\]\((.+)\)", text):
        assert (tmp_path / "report" / picture).is_file()
    assert text.count("![") == 6


@pytest.mark.parametrize("kind", ["suite", "submission"])
def test_summaries_are_not_counted_twice(tmp_path, kind):
    fake_workdirs.finetune(tmp_path / "rte", "rte", {"accuracy": 0.4321})
    summary = {"run": kind, "task": "rte", "metrics": {"rte": 0.9876}}
    fake_workdirs.write_json(tmp_path / "result.json", summary)
    text = write(tmp_path, tmp_path / "report")
    assert "43.2" in text
    assert "98.8" not in text and "0.9876" not in text
