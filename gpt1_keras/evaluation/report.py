"""All results as one page: `report.html`, and the same as `report.md`."""

import base64
import dataclasses
import os
import pathlib

from gpt1_keras import files
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import curves as curves_lib
from gpt1_keras.evaluation import figure2
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import run_tables
from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import text_view

# -----------------------------------------------------------------------------
# The pictures of the report: those it draws, and those that runs left.

# What the plots of an `evaluate` run show.
_SHOWN = {"confusion": "classes", "scores": "scores"}


@dataclasses.dataclass(frozen=True)
class Picture:
    """A PNG with the table of its numbers.

    Attributes:
        title: str.
        path: path of the PNG.
        alternative: str, what it shows, for who cannot see it.
        data: path of the CSV, or None.
        notes: list of str, sentences below it.
        is_small: bool. Several stand side by side.
    """

    title: str
    path: pathlib.Path
    alternative: str
    data: pathlib.Path | None = None
    notes: list = dataclasses.field(default_factory=list)
    is_small: bool = False

    def uri(self):
        """Return the picture as a data URI."""
        content = base64.b64encode(pathlib.Path(self.path).read_bytes())
        return f"data:image/png;base64,{content.decode('ascii')}"


def transferred_layers(results, evaluations, directory):
    """Draw figure 2, left; return a list of its `Picture`, [] without rows.

    Args:
        results: list of `comparison.Result` of fine-tuning.
        evaluations: list of `comparison.Run` of `evaluate`.
        directory: pathlib.Path of the report.
    """
    rows = figure2.layer_rows(results, evaluations)
    if not rows:
        return []
    drawn = {row["workdir"] for row in rows}
    samples = {
        tables.task_name(result.run.task)
        for result in results
        if result.run.is_sample and str(result.run.path) in drawn
    }
    return [
        Picture(
            "Figure 2, left: transferred layers",
            figure2.draw_left(rows, directory / "plots/figure2_left.png"),
            "Accuracy against the number of transferred layers; dev solid, "
            "train dashed.",
            figure2.write_csv(rows, directory / "figure2_left.csv"),
            [
                "Mean over seeds; bars from the lowest to the highest.",
                *tables.sample_notes(samples),
            ],
        )
    ]


def probes(runs, constants, directory):
    """Draw figure 2, right; return a list of its `Picture`, [] without rows.

    Args:
        runs: list of `comparison.Run` of pretraining.
        constants: dict, see `figure2.probe_rows`.
        directory: pathlib.Path of the report.
    """
    rows = figure2.probe_rows(runs, constants)
    if not rows:
        return []
    shown = figure2.drawn_runs(rows)
    notes = [
        "(score - random) / (state of the art - random); the paper does not "
        "give its constants. Here: "
        + "; ".join(
            f"{tables.task_name(probe)} {tables.percent(c['random'])}"
            f" to {tables.percent(c['state_of_the_art'])} ({c['source']})"
            for probe, c in constants.items()
        )
        + ".",
        f"Shown: {', '.join(sorted(shown))}.",
        *tables.sample_notes(
            str(run.path)
            for run in runs
            if run.is_sample and str(run.path) in shown
        ),
        *_left_out(rows, shown),
    ]
    return [
        Picture(
            "Figure 2, right: zero-shot performance while pretraining",
            figure2.draw_right(rows, directory / "plots/figure2_right.png"),
            "Relative performance of probes against updates; Transformer "
            "solid, LSTM dashed.",
            figure2.write_csv(rows, directory / "figure2_right.csv"),
            notes,
        )
    ]


def pretraining(runs, directory):
    """Draw the learning curves of pretraining; [] without a perplexity."""
    path = directory / "plots/learning_curves.png"
    if curves_lib.plot_perplexities(runs, path) is None:
        return []
    return [
        Picture(
            "Learning curves of pretraining",
            path,
            "Perplexity against updates, on held-out books and batches.",
        )
    ]


def fine_tuning(results, ablations, directory):
    """Draw the learning curves of fine-tuning; [] where none is in table 5.

    Args:
        results: list of `comparison.Result` of fine-tuning.
        ablations: `paper_tables.Ablations` chosen among them.
        directory: pathlib.Path of the report.
    """
    rows = curves_lib.fine_tuning_rows(results)
    drawn = curves_lib.drawn_rows(rows, ablations)
    if not drawn:
        return []
    return [
        Picture(
            "Learning curves of fine-tuning",
            curves_lib.plot_fine_tuning(
                drawn, directory / "plots/fine_tuning_curves.png"
            ),
            "The paper's metric of each task against updates; dev solid, a "
            "sample of the training examples dashed.",
            figure2.write_csv(rows, directory / "fine_tuning_curves.csv"),
            [
                "A result for each task and row of table 5: mean over seeds, "
                "in a band from the lowest to the highest.",
                *_left_out(rows, {row["workdir"] for row in drawn}),
            ],
        )
    ]


def evaluations(runs):
    """Return a small `Picture` of each plot that `evaluate` runs left."""
    return [
        Picture(
            f"{tables.task_name(run.task)}, {run.result['split']}: {run.path}",
            path,
            f"Predicted against true {_SHOWN.get(path.stem, path.stem)}.",
            notes=_worst(run),
            is_small=True,
        )
        for run in runs
        for path in sorted((run.path / "plots").glob("*.png"))
    ]


def attention(run):
    """Return a list of the `Picture` of a `view` run, [] if it is not there."""
    name = run.result["attention"]
    if name is None or not (run.path / name).is_file():
        return []
    return [
        Picture(
            f"Attention: {run.path}",
            run.path / name,
            "How much each token (row) attends to each before it.",
        )
    ]


def _worst(run):
    """Return a list of the note on the page of an `evaluate` run."""
    page = run.path / "tokens.html"
    return (
        [f"Its worst errors, token by token: {page}."] if page.is_file() else []
    )


def _left_out(rows, shown):
    """Return a list of the note on workdirs that are not drawn."""
    others = sorted({row["workdir"] for row in rows} - shown)
    return [f"In the CSV only: {', '.join(others)}."] if others else []


# -----------------------------------------------------------------------------
# All results as one page: `report.html`, and the same as `report.md`.

_PAGE = "report.html"
_TEMPLATE = "report.html.jinja"
# Kinds of runs whose numbers are their own, not a summary of others'.
_MEASURED = ("pretrain", "finetune", "zero_shot", "evaluate", "perplexity")


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
        runs: list of `comparison.Run`.
        directory: pathlib.Path, created if missing.
        constants: dict, see `figure2.probe_rows`.
        paper: dict from a task's name to {metric: share}: tables 2 to 4.
        table5: dict from a row to {task: share}, with "average".

    Returns:
        path of `report.html`.
    """
    (directory / "plots").mkdir(parents=True, exist_ok=True)
    of_kind = {kind: [r for r in runs if r.kind == kind] for kind in _MEASURED}
    results = comparison.over_seeds(of_kind["finetune"])
    ablations = paper_tables.choose(results)
    transfer = [
        *transferred_layers(results, of_kind["evaluate"], directory),
        *probes(of_kind["pretrain"], constants, directory),
        *_probe_tables(of_kind, constants),
    ]
    curves = fine_tuning(results, ablations, directory)
    sections = [
        Section("Benchmarks", paper_tables.of_the_paper(results, paper)),
        Section("Ablations", [paper_tables.table(ablations, table5)]),
        Section("Transfer and zero-shot behaviour", transfer),
        Section("Language models", _language_models(of_kind, directory)),
        Section("Fine-tuning", curves),
        Section("Evaluations", evaluations(of_kind["evaluate"])),
        Section("Texts", _texts([r for r in runs if r.kind == "view"])),
        Section("Settings", _settings(of_kind)),
        Section("All results", _all_results(of_kind)),
    ]
    sections = [section for section in sections if section.parts]
    files.write_atomic(directory / "report.md", _markdown(sections, directory))
    path = directory / _PAGE
    files.write_atomic(path, _html(sections))
    return path


def _probe_tables(of_kind, constants):
    found = [
        run_tables.probes_over_training(run, constants)
        for run in of_kind["pretrain"]
    ]
    if of_kind["zero_shot"]:
        found.append(run_tables.zero_shot(of_kind["zero_shot"]))
    return [table for table in found if table is not None]


def _language_models(of_kind, directory):
    """Return what pretraining and the scoring of texts gave."""
    parts = []
    if of_kind["pretrain"]:
        parts.append(run_tables.pretraining(of_kind["pretrain"]))
        parts += pretraining(of_kind["pretrain"], directory)
    if of_kind["perplexity"]:
        parts.append(run_tables.perplexity(of_kind["perplexity"]))
    return parts


def _texts(runs):
    """Return the coloured tokens and the attention of each view."""
    parts = []
    for run in runs:
        pieces, values = run.result["pieces"], run.result["log_probabilities"]
        parts.append(
            text_view.Text(
                f"Log-probability of each token: {run.path}",
                text_view.surprise(pieces, values),
                [text_view.SURPRISE_LEGEND],
            )
        )
        parts += attention(run)
    return parts


def _settings(of_kind):
    found = [run_tables.settings(kind, runs) for kind, runs in of_kind.items()]
    return [table for table in found if table is not None]


def _all_results(of_kind):
    runs = [run for found in of_kind.values() for run in found]
    results = comparison.over_seeds(runs)
    return [run_tables.all_results(results)] if results else []


def _html(sections):
    return text_view.render(
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
            if isinstance(part, text_view.Text):
                lines.append(f"{part.title}: in {_PAGE}.\n")
                continue
            path = os.path.relpath(part.path, directory)
            lines.append(
                f"![{part.alternative}]({pathlib.Path(path).as_posix()})\n"
            )
            lines += [f"{note}\n" for note in part.notes]
    return "\n".join(lines)
