"""All results as one page: `report.html`, and the same as `report.md`.

First the page, then its pictures, then the tables of what runs measured and
how they were configured.
"""

import base64
import csv
import dataclasses
import io
import os
import pathlib
import urllib.parse

from gpt1_keras import files
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import figure2
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import text_view

_PAGE = "report.html"
_TEMPLATE = "report.html.jinja"
# Kinds of runs with numbers of their own, not a summary of other runs'.
_MEASURED = ("pretrain", "finetune", "zero_shot", "evaluate", "perplexity")
# Macros that say what is run, or hold the paper's numbers.
_NOT_SETTINGS = ("PAPER", "ROWS", "RUN", "TASK")
# Splits of the evaluations while fine-tuning -> kind of curve.
_SPLITS = {"dev": "dev", "train_sample": "sample of train"}
# Plot of an `evaluate` run -> what it shows.
_SHOWN = {"confusion": "classes", "scores": "scores"}


@dataclasses.dataclass(frozen=True)
class Picture:
    """A PNG with the CSV of its numbers, and sentences below it.

    `alternative` says what it shows to those who cannot see it; several
    pictures that are `is_small` stand side by side.
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
        constants, paper, table5: the paper's numbers, as of `runs.report`.
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
            transferred_layers(results, directory),
            zero_shot(pretrained, constants, directory),
            *(
                zero_shot_while_pretraining(run, constants)
                for run in pretrained
            ),
            zero_shot_table(of_kind["zero_shot"]),
        ],
        "Language models": [
            pretraining_table(pretrained),
            perplexities(pretrained, directory),
            perplexity_table(of_kind["perplexity"]),
        ],
        "Fine-tuning": [fine_tuning(results, ablations, directory)],
        "Evaluations": evaluations(of_kind["evaluate"]),
        "Texts": [
            part for r in runs if r.kind == "view" for part in viewed_text(r)
        ],
        "Settings": [
            settings_table(kind, found) for kind, found in of_kind.items()
        ],
        "All results": [
            results_table(
                comparison.join_seeds(
                    run for found in of_kind.values() for run in found
                )
            )
        ],
        "Unreadable workdirs": [unreadable_table(unreadable)],
    }
    shown = {
        title: found
        for title, parts in sections.items()
        if (found := [part for part in parts if part])
    }
    lines = ["# GPT-1: results beside the paper's\n"]
    for title, parts in shown.items():
        lines += [f"## {title}\n", *(_markdown(p, directory) for p in parts)]
    files.write_atomic(directory / "report.md", "\n".join(lines))
    files.write_atomic(
        directory / _PAGE,
        text_view.render(
            _TEMPLATE, sections=shown, kind=lambda part: type(part).__name__
        ),
    )
    return directory / _PAGE


def _markdown(part, directory):
    """Return a part of the page as Markdown; of a text, where to find it."""
    if isinstance(part, tables.Table):
        return tables.markdown(part)
    if isinstance(part, text_view.Text):
        return f"{tables.escape(part.title)}: in {_PAGE}.\n"
    path = pathlib.Path(os.path.relpath(part.path, directory))
    address = urllib.parse.quote(path.as_posix())
    lines = [f"![{tables.escape(part.alternative)}]({address})\n"]
    lines += [f"{tables.escape(note)}\n" for note in part.notes]
    return "\n".join(lines)


def _figure(name, title, alternative, rows, draw, directory, notes):
    """Draw rows and write them as CSV; return the `Picture`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    numbers = directory / f"{name}.csv"
    files.write_atomic(numbers, text.getvalue())
    picture = draw(rows, directory / f"plots/{name}.png")
    return Picture(title, picture, alternative, numbers, notes)


def transferred_layers(results, directory):
    """Draw figure 2, left; return its `Picture`, None without rows."""
    rows = figure2.layer_rows(results)
    if not rows:
        return None
    drawn = {row["workdir"] for row in rows}
    samples = [
        tables.task_name(result.run.task)
        for result in results
        if result.run.is_sample and str(result.run.path) in drawn
    ]
    return _figure(
        "figure2_left",
        "Figure 2, left: transferred layers",
        "Accuracy against the number of transferred layers; dev solid, "
        "train dashed.",
        rows,
        figure2.draw_left,
        directory,
        [
            "Mean over seeds, in a band from the lowest to the highest.",
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
    samples = {str(run.path) for run in runs if run.is_sample}
    return _figure(
        "figure2_right",
        "Figure 2, right: zero-shot performance while pretraining",
        "Relative performance of zero-shot tasks against steps; "
        "Transformer solid, LSTM dashed.",
        rows,
        figure2.draw_right,
        directory,
        [
            "(score - random) / (state of the art - random); the paper does "
            f"not give its constants. Here: {chosen}.",
            f"Shown: {', '.join(sorted(shown))}.",
            *tables.sample_notes(samples & shown),
            *_left_out(rows, shown),
        ],
    )


def perplexities(runs, directory):
    """Draw the learning curves of pretraining; None without a perplexity."""
    path = directory / "plots/learning_curves.png"
    path = plots.plot_perplexities(runs, path)
    return path and Picture(
        "Learning curves of pretraining",
        path,
        "Perplexity against steps, on held-out books and training batches.",
    )


def fine_tuning(results, ablations, directory):
    """Draw the learning curves of fine-tuning in table 5, None without.

    Rows have a score (the paper's metric, a share) for each evaluation.
    """
    rows = [
        {
            "task": result.run.task,
            "ablation": result.run.row,
            "workdir": str(run.path),
            "seed": seed,
            "split": line["split"],
            "metric": result.metric,
            "step": line["step"],
            "score": line[result.metric],
        }
        for result in results
        for seed, run in result.run_of_seed.items()
        for line in run.of_seed(seed).lines
        if line.get("split") in _SPLITS and line.get(result.metric) is not None
    ]
    shown = {
        str(run.path) for each in ablations.cells.values() for run in each.runs
    }
    if not any(row["workdir"] in shown for row in rows):
        return None
    return _figure(
        "fine_tuning_curves",
        "Learning curves of fine-tuning",
        "The paper's metric of each task against steps; dev solid, a sample "
        "of the training examples dashed.",
        rows,
        lambda rows, path: _draw_fine_tuning(rows, shown, path),
        directory,
        [
            "One result for each task and row of table 5: mean over seeds, "
            "in a band from the lowest to the highest.",
            *_left_out(rows, shown),
        ],
    )


def _draw_fine_tuning(rows, shown, path):
    """Draw the rows of the workdirs in `shown`, a panel for each task."""
    points = [
        plots.Point(
            label,
            _SPLITS[row["split"]],
            row["step"],
            100 * row["score"],
            panel=f"{tables.task_name(row['task'])},"
            f" {tables.metric_name(row['metric'])}",
        )
        for ablation, label in paper_tables.ROWS.items()
        for row in rows
        if row["ablation"] == ablation and row["workdir"] in shown
    ]
    return plots.draw_curves(
        points,
        path,
        y_label="percent",
        format_axes=plots.format_linear_steps,
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


def pretraining_table(runs):
    rows = []
    for run in runs:
        held_out = [x for x in run.lines if x.get("split") == "held_out"]
        last = run.result.get("metrics") or (held_out[-1] if held_out else {})
        state = "" if run.result else "not finished"
        rows.append(
            {
                "workdir": tables.path(run.path, state),
                "network": run.backbone,
                "layers": run.num_layers,
                "parameters": run.result.get("parameters"),
                "steps": run.lines[-1]["step"] if run.lines else None,
                "tokens seen": run.result.get("tokens_seen"),
                "perplexity": last.get("perplexity"),
                "per word": last.get("word_perplexity"),
                "bits per byte": last.get("bits_per_byte"),
                "paper": run.result.get("paper", {}).get("perplexity"),
            }
        )
    note = (
        "Perplexity per token on held-out books. Perplexities on different "
        "corpora are not comparable, those per token on different "
        "vocabularies neither; the paper's is on BooksCorpus."
    )
    return tables.Table("Pretraining runs", rows, [note])


def perplexity_table(runs):
    rows = []
    for run in runs:
        found, metrics = run.result, run.result.get("metrics", {})
        corpus = found.get("corpus", ""), found.get("split", "")
        rows.append(
            {
                "corpus": tables.path(*corpus),
                "perplexity": metrics.get("perplexity"),
                "per word": metrics.get("word_perplexity"),
                "bits per byte": metrics.get("bits_per_byte"),
                "tokens": metrics.get("tokens"),
                "window": found.get("sequence_length"),
                "unknown": tables.percent(found.get("unknown_share")),
                "preset": tables.path(found.get("preset", "")),
                "workdir": run.path,
            }
        )
    note = (
        "Perplexity per token; the small print names the split; window: "
        "tokens that the model sees at a time; unknown: percent of tokens that "
        "are not in the vocabulary."
    )
    return tables.Table("Perplexity of texts", rows, [note])


def zero_shot_table(runs):
    rows = []
    for run in runs:
        found, majority = run.result, run.result.get("majority", {})
        for i, (name, value) in enumerate(found.get("metrics", {}).items()):
            random = None if i else found.get("random")
            row = {
                "task": _task_with_labels(run),
                "split": found.get("split"),
                "metric": tables.metric_name(name),
                "value": tables.metric_value(name, value),
                "random": tables.metric_value(name, random),
                "majority": tables.metric_value(name, majority.get(name)),
                "examples": found.get("num_examples"),
                "data": tables.data(run),
                "network": run.backbone,
                "workdir": run.path,
            }
            shown = ("metric", "value", "majority") if i else row
            rows.append({name: row[name] for name in shown})
    return tables.Table("Zero-shot tasks", rows)


def zero_shot_while_pretraining(run, constants):
    """Return the table of zero-shot scores while pretraining, None without.

    `constants` (`figure2.zero_shot_rows`) give the random baselines.
    """
    lines = [line for line in run.lines if line.get("split") == "probes"]
    names = dict.fromkeys(name for line in lines for name in line)
    shown = [name for name in names if tables.is_share(name.partition("_")[2])]
    if not shown:
        return None
    random = {
        f"{task}_{each['metric']}": each["random"]
        for task, each in constants.items()
    }
    rows = []
    for line in (*lines, random):
        rows.append({"steps": line.get("step", "random")})
        for name in shown:
            task, _, metric = name.partition("_")
            column = f"{tables.task_name(task)} {tables.metric_name(metric)}"
            rows[-1][column] = tables.metric_value(metric, line.get(name))
    number = run.macro("NUM_PROBE_EXAMPLES", int)
    notes = [f"{number:,} examples of each split."] if number else []
    notes += tables.sample_notes(["all tasks"] if run.is_sample else [])
    title = f"Zero-shot tasks while pretraining: {run.path}"
    return tables.Table(title, rows, notes)


def settings_table(kind, runs):
    """Return the table of the settings in which runs of one kind differ.

    A row for each `config.gin`; None where fewer than two differ.
    """
    configured = {run.config: run for run in runs if run.config is not None}
    runs = list(configured.values())
    names = sorted(
        {
            name
            for run in runs[1:]
            for name in comparison.setting_names(runs[0].bindings, run.bindings)
            if _is_setting(name, runs[0].bindings, run.bindings)
        }
    )
    rows = [
        {"workdir": run.config.parent}
        | {name: _setting(run, name) for name in names}
        for run in runs
    ]
    return tables.Table(f"Settings: {kind}", rows) if names else None


def results_table(results):
    rows = []
    for result in results:
        run, *others = result.runs
        rows.append(
            {
                "run": run.kind,
                "task": tables.task_name(run.task or ""),
                "split": run.result.get("split"),
                "ablation": run.row if run.kind == "finetune" else "",
                "metrics": "; ".join(_metric_texts(result)),
                "seeds": len(result.seeds),
                "workdir": tables.path(
                    run.path, ", ".join(str(each.path) for each in others)
                ),
            }
        )
    return tables.Table("All results", rows)


def unreadable_table(found):
    rows = [{"workdir": path, "reason": message} for path, message in found]
    return tables.Table("Unreadable", rows)


def _task_with_labels(run):
    """Return the cell of a zero-shot task; LABEL_WORDS as the small print."""
    words = run.macro("LABEL_WORDS", tuple | list) or ()
    note = " / ".join(", ".join(map(str, each)) for each in words if each)
    return tables.Cell(tables.task_name(run.task or ""), note)


def _metric_texts(result):
    for name in result.metrics:
        value = tables.metric_value(name, result.median(name))
        span = tables.span(name, result.values(name))
        span = f" ({span})" if span else ""
        yield f"{tables.metric_name(name)} {value}{span}"


def _is_setting(name, *sides):
    """Whether users set it: a macro, or a parameter that both sides have."""
    if name.isupper():
        return not name.startswith(_NOT_SETTINGS)
    return all(name in side.parameters for side in sides)


def _setting(run, name):
    values = run.bindings.macros | run.bindings.parameters
    text = repr(values[name]) if name in values else ""
    return tables.Cell(text, is_code=True)
