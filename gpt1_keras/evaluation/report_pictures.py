"""The pictures of the report: those it draws, and those that runs left."""

import base64
import dataclasses
import pathlib

from gpt1_keras.evaluation import figure2
from gpt1_keras.evaluation import figure2_plot
from gpt1_keras.evaluation import fine_tuning_curves
from gpt1_keras.evaluation import paper_table
from gpt1_keras.evaluation import perplexity_curves
from gpt1_keras.evaluation import result_cells

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
        evaluations: list of `workdirs.Run` of `evaluate`.
        directory: pathlib.Path of the report.
    """
    rows = figure2.layer_rows(results, evaluations)
    if not rows:
        return []
    drawn = {row["workdir"] for row in rows}
    samples = {
        paper_table.task_name(result.run.task)
        for result in results
        if result.run.is_sample and str(result.run.path) in drawn
    }
    return [
        Picture(
            "Figure 2, left: transferred layers",
            figure2_plot.draw_left(rows, directory / "plots/figure2_left.png"),
            "Accuracy against the number of transferred layers; dev solid, "
            "train dashed.",
            figure2.write_csv(rows, directory / "figure2_left.csv"),
            [
                "Mean over seeds; bars from the lowest to the highest.",
                *result_cells.sample_notes(samples),
            ],
        )
    ]


def probes(runs, constants, directory):
    """Draw figure 2, right; return a list of its `Picture`, [] without rows.

    Args:
        runs: list of `workdirs.Run` of pretraining.
        constants: dict, see `figure2.probe_rows`.
        directory: pathlib.Path of the report.
    """
    rows = figure2.probe_rows(runs, constants)
    if not rows:
        return []
    shown = figure2_plot.drawn_runs(rows)
    notes = [
        "(score - random) / (state of the art - random); the paper does not "
        "give its constants. Here: "
        + "; ".join(
            f"{paper_table.task_name(probe)} {paper_table.percent(c['random'])}"
            f" to {paper_table.percent(c['state_of_the_art'])} ({c['source']})"
            for probe, c in constants.items()
        )
        + ".",
        f"Shown: {', '.join(sorted(shown))}.",
        *result_cells.sample_notes(
            str(run.path)
            for run in runs
            if run.is_sample and str(run.path) in shown
        ),
        *_left_out(rows, shown),
    ]
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


def pretraining(runs, directory):
    """Draw the learning curves of pretraining; [] without a perplexity."""
    path = directory / "plots/learning_curves.png"
    if perplexity_curves.plot(runs, path) is None:
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
        ablations: `ablation_table.Ablations` chosen among them.
        directory: pathlib.Path of the report.
    """
    rows = fine_tuning_curves.rows(results)
    drawn = fine_tuning_curves.drawn(rows, ablations)
    if not drawn:
        return []
    return [
        Picture(
            "Learning curves of fine-tuning",
            fine_tuning_curves.plot(
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
            f"{paper_table.task_name(run.task)}, {run.result['split']}: "
            f"{run.path}",
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
