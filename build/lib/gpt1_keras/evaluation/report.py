"""All results as one page: `report.html`, and the same as `report.md`."""

import base64
import csv
import dataclasses
import io
import os
import pathlib
import urllib.parse

from gpt1_keras import files
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import curves
from gpt1_keras.evaluation import figure2
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import run_tables
from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import text_view

_PAGE = "report.html"
_TEMPLATE = "report.html.jinja"
# Kinds of runs with numbers of their own, not a summary of other runs'.
_MEASURED = ("pretrain", "finetune", "zero_shot", "evaluate", "perplexity")
# Plot of an `evaluate` run -> what it shows.
_SHOWN = {"confusion": "classes", "scores": "scores"}


@dataclasses.dataclass(frozen=True)
class Picture:
    """A PNG with the table of its numbers.

    Attributes:
        title: str.
        path: path of the PNG.
        alternative: str, what it shows, for those who cannot see it.
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


def write(runs, directory, *, constants, paper, table5, unreadable=()):
    """Write `report.html`, `report.md`, `plots/*.png` and `*.csv`.

    Args:
        runs: list of `comparison.Run`.
        directory: pathlib.Path, created if missing.
        constants: dict, see `figure2.zero_shot_rows`.
        paper: dict from a task's name to {metric: share}: tables 2 to 4.
        table5: dict from a row to {task: share}, with "average".
        unreadable: list of (path, what is wrong) of other workdirs.

    Returns:
        path of `report.html`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    of_kind = {kind: [r for r in runs if r.kind == kind] for kind in _MEASURED}
    pretrained = of_kind["pretrain"]
    results = comparison.join_seeds(of_kind["finetune"])
    ablations = paper_tables.choose_ablations(results)
    sections = {
        "Benchmarks": paper_tables.of_the_paper(results, paper),
        "Ablations": [paper_tables.ablation_table(ablations, table5)],
        "Transfer and zero-shot behaviour": [
            transferred_layers(results, of_kind["evaluate"], directory),
            zero_shot(pretrained, constants, directory),
            *(
                run_tables.zero_shot_over_training(run, constants)
                for run in pretrained
            ),
            run_tables.zero_shot(of_kind["zero_shot"]),
        ],
        "Language models": [
            run_tables.pretraining(pretrained),
            perplexities(pretrained, directory),
            run_tables.perplexity(of_kind["perplexity"]),
        ],
        "Fine-tuning": [fine_tuning(results, ablations, directory)],
        "Evaluations": evaluations(of_kind["evaluate"]),
        "Texts": [
            part for r in runs if r.kind == "view" for part in viewed_text(r)
        ],
        "Settings": [
            run_tables.settings(kind, found) for kind, found in of_kind.items()
        ],
        "All results": [
            run_tables.all_results(
                comparison.join_seeds(
                    run for found in of_kind.values() for run in found
                )
            )
        ],
        "Unreadable workdirs": [run_tables.unreadable(unreadable)],
    }
    shown = {
        title: [part for part in parts if _is_shown(part)]
        for title, parts in sections.items()
        if any(map(_is_shown, parts))
    }
    files.write_atomic(directory / "report.md", _markdown(shown, directory))
    files.write_atomic(
        directory / _PAGE,
        text_view.render(
            _TEMPLATE, sections=shown, kind=lambda part: type(part).__name__
        ),
    )
    return directory / _PAGE


def _is_shown(part):
    """Return whether a part exists and, if it is a table, has rows."""
    return bool(part.rows if isinstance(part, tables.Table) else part)


def _markdown(sections, directory):
    lines = ["# GPT-1: results beside the paper's\n"]
    for title, parts in sections.items():
        lines.append(f"## {title}\n")
        for part in parts:
            if isinstance(part, tables.Table):
                lines.append(tables.markdown(part))
                continue
            if isinstance(part, text_view.Text):
                lines.append(f"{tables.escape(part.title)}: in {_PAGE}.\n")
                continue
            path = pathlib.Path(os.path.relpath(part.path, directory))
            address = urllib.parse.quote(path.as_posix())
            lines.append(f"![{tables.escape(part.alternative)}]({address})\n")
            lines += [f"{tables.escape(note)}\n" for note in part.notes]
    return "\n".join(lines)


def transferred_layers(results, evaluations, directory):
    """Draw figure 2, left; return its `Picture`, None without rows."""
    rows = figure2.layer_rows(results, evaluations)
    if not rows:
        return None
    drawn = {row["workdir"] for row in rows}
    samples = {
        tables.task_name(result.run.task)
        for result in results
        if result.run.is_sample and str(result.run.path) in drawn
    }
    return Picture(
        "Figure 2, left: transferred layers",
        figure2.draw_left(rows, directory / "plots/figure2_left.png"),
        "Accuracy against the number of transferred layers; dev solid, "
        "train dashed.",
        _write_csv(rows, directory / "figure2_left.csv"),
        [
            "Mean over seeds; bars from the lowest to the highest.",
            *tables.sample_notes(samples),
        ],
    )


def zero_shot(runs, constants, directory):
    """Draw figure 2, right; return its `Picture`, None without rows."""
    rows = figure2.zero_shot_rows(runs, constants)
    if not rows:
        return None
    shown = figure2.drawn_runs(rows)
    chosen = "; ".join(
        f"{tables.task_name(task)} {tables.percent(each['random'])}"
        f" to {tables.percent(each['state_of_the_art'])} ({each['source']})"
        for task, each in constants.items()
    )
    notes = [
        "(score - random) / (state of the art - random); the paper does not "
        f"give its constants. Here: {chosen}.",
        f"Shown: {', '.join(sorted(shown))}.",
        *tables.sample_notes(
            str(run.path)
            for run in runs
            if run.is_sample and str(run.path) in shown
        ),
        *_left_out(rows, shown),
    ]
    return Picture(
        "Figure 2, right: zero-shot performance while pretraining",
        figure2.draw_right(rows, directory / "plots/figure2_right.png"),
        "Relative performance of zero-shot tasks against steps; "
        "Transformer solid, LSTM dashed.",
        _write_csv(rows, directory / "figure2_right.csv"),
        notes,
    )


def perplexities(runs, directory):
    """Draw the learning curves of pretraining; None without a perplexity."""
    path = curves.plot_perplexities(
        [
            (str(run.path), plots.LINE_STYLES[run.backbone], run.lines)
            for run in runs
        ],
        directory / "plots/learning_curves.png",
    )
    return path and Picture(
        "Learning curves of pretraining",
        path,
        "Perplexity against steps, on held-out books and training batches.",
    )


def fine_tuning(results, ablations, directory):
    """Draw the learning curves of fine-tuning in table 5, None without."""
    rows = curves.fine_tuning_rows(results)
    drawn = curves.drawn_rows(rows, ablations)
    if not drawn:
        return None
    return Picture(
        "Learning curves of fine-tuning",
        curves.plot_fine_tuning(
            drawn, directory / "plots/fine_tuning_curves.png"
        ),
        "The paper's metric of each task against steps; dev solid, a sample "
        "of the training examples dashed.",
        _write_csv(rows, directory / "fine_tuning_curves.csv"),
        [
            "One result for each task and row of table 5: mean over seeds, "
            "in a band from the lowest to the highest.",
            *_left_out(rows, {row["workdir"] for row in drawn}),
        ],
    )


def evaluations(runs):
    """Return a small `Picture` of each plot that `evaluate` runs wrote."""
    found = []
    for run in runs:
        page = run.path / "tokens.html"
        notes = [f"Its worst errors, token by token: {page}."]
        found += [
            Picture(
                f"{tables.task_name(run.task or '')},"
                f" {run.result.get('split', '')}: {run.path}",
                path,
                f"Predicted against true {_SHOWN.get(path.stem, path.stem)}.",
                notes=notes if page.is_file() else [],
                is_small=True,
            )
            for path in sorted((run.path / "plots").glob("*.png"))
        ]
    return found


def viewed_text(run):
    """Return the coloured tokens and the attention map of a `view` run."""
    found = [
        run.result.get(name, []) for name in ("pieces", "log_probabilities")
    ]
    tokens = text_view.surprise(*found)
    title = f"Log-probability of each token: {run.path}"
    found = [text_view.Text(title, tokens, [text_view.SURPRISE_LEGEND])]
    picture = run.path / (run.result.get("attention", ""))
    if os.path.isfile(picture):
        found.append(
            Picture(
                f"Attention: {run.path}",
                picture,
                "How much each token (row) attends to each earlier token.",
            )
        )
    return found


def _left_out(rows, shown):
    """Return a list with the note on workdirs that are not drawn."""
    others = sorted({row["workdir"] for row in rows} - shown)
    return [f"Only in the CSV: {', '.join(others)}."] if others else []


def _write_csv(rows, path):
    """Write dicts, the names of the columns first; return `path`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_atomic(path, text.getvalue())
    return path
