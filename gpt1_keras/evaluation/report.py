"""All results as one page: `report.html`, and the same as `report.md`."""

import base64
import dataclasses
import os
import pathlib

from gpt1_keras import files
from gpt1_keras.evaluation import ablation_table
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import figure2
from gpt1_keras.evaluation import figure2_plot
from gpt1_keras.evaluation import paper_table
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import perplexity_curves
from gpt1_keras.evaluation import run_tables
from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import templates
from gpt1_keras.evaluation import token_page

_PAGE = "report.html"
_TEMPLATE = "report.html.jinja"
# Kinds of runs whose numbers are their own, not a summary of others'.
_MEASURED = ("pretrain", "finetune", "zero_shot", "evaluate")


@dataclasses.dataclass(frozen=True)
class Picture:
    """A PNG with the table of its numbers.

    Attributes:
        title: str.
        path: path of the PNG.
        alternative: str, what it shows, for who cannot see it.
        data: path of the CSV, or None.
        notes: list of str, sentences below it.
    """

    title: str
    path: pathlib.Path
    alternative: str
    data: pathlib.Path | None = None
    notes: list = dataclasses.field(default_factory=list)

    def uri(self):
        """Return the picture as a data URI."""
        content = base64.b64encode(pathlib.Path(self.path).read_bytes())
        return f"data:image/png;base64,{content.decode('ascii')}"


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the report: tables and pictures in their order."""

    title: str
    parts: list

    @property
    def anchor(self):
        """The name that a link to it has."""
        return "-".join(self.title.lower().replace(",", "").split())


def write(runs, directory, *, constants, paper, table5):
    """Write `report.html`, `report.md`, `plots/*.png` and `*.csv`.

    Args:
        runs: list of `workdirs.Run`.
        directory: pathlib.Path, created if missing.
        constants: dict, see `figure2.probe_rows`.
        paper: dict from a task's name to {metric: share}: tables 2 to 4.
        table5: dict from a row to {task: share}, with "average".

    Returns:
        path of `report.html`.
    """
    plots = directory / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    of_kind = {kind: [r for r in runs if r.kind == kind] for kind in _MEASURED}
    results = comparison.over_seeds(of_kind["finetune"])
    ablations = ablation_table.choose(results)
    sections = [
        Section("Benchmarks", paper_tables.of_the_paper(results, paper)),
        Section("Ablations", [ablation_table.table(ablations, table5)]),
        Section(
            "Transfer and zero-shot behaviour",
            [
                *_left(results, of_kind["evaluate"], directory),
                *_right(of_kind["pretrain"], constants, directory),
                *_probe_tables(of_kind, constants),
            ],
        ),
        Section("Pretraining", _pretraining(of_kind["pretrain"], plots)),
        Section("Texts", _texts([r for r in runs if r.kind == "view"])),
        Section("Settings", _settings(of_kind)),
        Section("All results", _all_results(of_kind)),
    ]
    sections = [section for section in sections if section.parts]
    files.write_atomic(directory / "report.md", _markdown(sections, directory))
    path = directory / _PAGE
    files.write_atomic(path, _html(sections))
    return path


def _left(results, evaluations, directory):
    rows = figure2.layer_rows(results, evaluations)
    if not rows:
        return []
    return [
        Picture(
            "Figure 2, left: transferred layers",
            figure2_plot.draw_left(rows, directory / "plots/figure2_left.png"),
            "Accuracy against the number of transferred layers; dev solid, "
            "train dashed.",
            figure2.write_csv(rows, directory / "figure2_left.csv"),
            ["Mean over seeds; bars from the lowest to the highest."],
        )
    ]


def _right(runs, constants, directory):
    rows = figure2.probe_rows(runs, constants)
    if not rows:
        return []
    shown = sorted(figure2_plot.drawn_runs(rows))
    notes = [
        "(score - random) / (state of the art - random); the paper does not "
        "give its constants. Here: "
        + "; ".join(
            f"{paper_table.task_name(probe)} {paper_table.percent(c['random'])}"
            f" to {paper_table.percent(c['state_of_the_art'])} ({c['source']})"
            for probe, c in constants.items()
        )
        + ".",
        f"Shown: {', '.join(shown)}.",
    ]
    others = {row["workdir"] for row in rows} - set(shown)
    if others:
        notes.append(f"In the CSV only: {', '.join(sorted(others))}.")
    return [
        Picture(
            "Figure 2, right: zero-shot performance while pretraining",
            figure2_plot.draw_right(
                rows, directory / "plots/figure2_right.png"
            ),
            "Relative performance of probes against updates; Transformer "
            "solid, LSTM dashed.",
            figure2.write_csv(rows, directory / "figure2_right.csv"),
            notes,
        )
    ]


def _probe_tables(of_kind, constants):
    found = [
        run_tables.probes_over_training(run, constants)
        for run in of_kind["pretrain"]
    ]
    if of_kind["zero_shot"]:
        found.append(run_tables.zero_shot(of_kind["zero_shot"]))
    return [table for table in found if table is not None]


def _pretraining(runs, plots):
    if not runs:
        return []
    parts = [run_tables.pretraining(runs)]
    path = perplexity_curves.plot(runs, plots / "learning_curves.png")
    if path is not None:
        parts.append(
            Picture(
                "Learning curves",
                path,
                "Perplexity against updates, on held-out books and batches.",
            )
        )
    return parts


def _texts(runs):
    """Return the coloured tokens and the attention of each view."""
    parts = []
    for run in runs:
        pieces, values = run.result["pieces"], run.result["log_probabilities"]
        parts.append(
            token_page.Text(
                f"Log-probability of each token: {run.path}",
                token_page.surprise(pieces, values),
                [token_page.SURPRISE_LEGEND],
            )
        )
        picture = run.result["attention"]
        if picture is not None and (run.path / picture).is_file():
            parts.append(
                Picture(
                    f"Attention: {run.path}",
                    run.path / picture,
                    "How much each token (row) attends to each before it.",
                )
            )
    return parts


def _settings(of_kind):
    found = [run_tables.settings(kind, runs) for kind, runs in of_kind.items()]
    return [table for table in found if table is not None]


def _all_results(of_kind):
    runs = [run for found in of_kind.values() for run in found]
    results = comparison.over_seeds(runs)
    return [run_tables.all_results(results)] if results else []


def _html(sections):
    return templates.render(
        _TEMPLATE, sections=sections, kind=lambda part: type(part).__name__
    )


def _markdown(sections, directory):
    lines = ["# GPT-1: results beside the paper's\n"]
    for section in sections:
        lines.append(f"## {section.title}\n")
        for part in section.parts:
            if isinstance(part, tables.Table):
                lines.append(tables.markdown(part))
                continue
            if isinstance(part, token_page.Text):
                lines.append(f"{part.title}: in {_PAGE}.\n")
                continue
            path = os.path.relpath(part.path, directory)
            lines.append(
                f"![{part.alternative}]({pathlib.Path(path).as_posix()})\n"
            )
            lines += [f"{note}\n" for note in part.notes]
    return "\n".join(lines)
