"""All results as one page: `report.html`, and the same as `report.md`."""

import dataclasses
import os
import pathlib

from gpt1_keras import files
from gpt1_keras.evaluation import ablation_table
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import report_pictures
from gpt1_keras.evaluation import run_tables
from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import templates
from gpt1_keras.evaluation import token_page

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
        runs: list of `workdirs.Run`.
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
    ablations = ablation_table.choose(results)
    transfer = [
        *report_pictures.transferred_layers(
            results, of_kind["evaluate"], directory
        ),
        *report_pictures.probes(of_kind["pretrain"], constants, directory),
        *_probe_tables(of_kind, constants),
    ]
    curves = report_pictures.fine_tuning(results, ablations, directory)
    sections = [
        Section("Benchmarks", paper_tables.of_the_paper(results, paper)),
        Section("Ablations", [ablation_table.table(ablations, table5)]),
        Section("Transfer and zero-shot behaviour", transfer),
        Section("Language models", _language_models(of_kind, directory)),
        Section("Fine-tuning", curves),
        Section(
            "Evaluations", report_pictures.evaluations(of_kind["evaluate"])
        ),
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
        parts += report_pictures.pretraining(of_kind["pretrain"], directory)
    if of_kind["perplexity"]:
        parts.append(run_tables.perplexity(of_kind["perplexity"]))
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
        parts += report_pictures.attention(run)
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
