"""One page of all results, from the files of workdirs alone."""

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import text_view

_TITLE = "GPT-1: results beside the paper's"
_INTRODUCTION = (
    "Radford et al. 2018, Improving Language Understanding by Generative "
    "Pre-Training. Each of our numbers comes from a file in the workdir named "
    "beside it; a cell is empty if no file has its number."
)
# First word of a plot's name -> its alt text.
_ALTERNATIVES = {
    "confusion": "Predicted against true classes.",
    "scores": "Predicted against true scores.",
    "attention": "How much each token (row) attends to each earlier token.",
}
# Kinds of runs that measure something, not those that summarise other runs.
_MEASURED = ("pretrain", "finetune", "zero_shot", "evaluate", "perplexity")


def report(
    *,
    workdir,
    results: checks.NotRecipe[checks.Paths],
    constants: checks.NotRecipe[dict],
    paper: checks.NotRecipe[checks.NamedNumbers],
    table5: checks.NotRecipe[checks.NamedNumbers],
):
    """Write `report.html` (also as `report.md`), `plots/*.png` and `*.csv`.

    Reads `result.json`, `metrics.jsonl` and `config.gin`; loads no model and
    changes no workdir but its own. A workdir with a damaged file is listed as
    unreadable. Every call rewrites everything. Returns the path of the HTML.

    Args:
        results: path of a workdir, or of a folder with some, or several paths.
        constants: {zero-shot task: {"metric", "random", "state_of_the_art",
            "source"}}, for figure 2.
        table5: {row of table 5: {task: share}}.
    """
    folders = [results] if isinstance(results, str) else results
    runs, unreadable = comparison.find(folders)
    for path, message in unreadable:
        logging.warning("%s is left out: %s", path, message)
    if not any(run.result for run in runs):
        raise errors.InputError(
            "`results`: no readable result.json in or below"
            f" {', '.join(folders)}: give the workdir of a finished run, or a"
            " folder above some"
        )

    def of_kind(*kinds):
        return [run for kind in kinds for run in runs if run.kind == kind]

    left_out = [{"workdir": path, "reason": why} for path, why in unreadable]
    found = comparison.join_seeds(of_kind("finetune"))
    ablations = paper_tables.choose_ablations(found)
    curves = workdir / "plots" / "learning_curves.png"
    sections = {
        "Benchmarks": paper_tables.of_the_paper(found, paper),
        "Ablations": [paper_tables.ablation_table(ablations, table5)],
        "Transfer and zero-shot behaviour": [
            plots.transferred_layers(found, workdir),
            plots.zero_shot(of_kind("pretrain"), constants, workdir),
            zero_shot_table(of_kind("zero_shot")),
        ],
        "Language models": [
            pretraining_table(of_kind("pretrain")),
            plots.perplexities(of_kind("pretrain"), curves),
            perplexity_table(of_kind("perplexity")),
        ],
        "Fine-tuning": [plots.fine_tuning(found, ablations, workdir)],
        "Texts and plots": written_by(of_kind("evaluate", "view")),
        "All results": [results_table(of_kind(*_MEASURED))],
        "Unreadable workdirs": [tables.Table("Unreadable", left_out)],
    }
    sections = {
        title: shown
        for title, parts in sections.items()
        if (shown := [part for part in parts if part])
    }
    page = workdir / "report.html"
    for path in (workdir / "report.md", page):
        text_view.write_page(path, _TITLE, _INTRODUCTION, sections)
    logging.info("report of %d workdirs: %s", len(runs), page)
    return page


def written_by(runs):
    """Yield the coloured tokens and plots of runs, as parts of a page."""
    for run in runs:
        pieces = run.result.get("pieces", [])
        values = run.result.get("log_probabilities", [])
        if tokens := text_view.surprise(pieces, values):
            title = f"Log-probability of each token: {run.path}"
            yield text_view.Text(title, tokens, [text_view.SURPRISE_LEGEND])
        facts = [tables.task_name(run.task), run.result.get("split")]
        for path in sorted((run.path / "plots").glob("*.png")):
            name = path.stem.replace("_", " ")
            yield plots.Picture(
                f"{', '.join(filter(None, [name, *facts]))}: {run.path}",
                path,
                _ALTERNATIVES.get(name.partition(" ")[0], name),
                is_small=run.kind == "evaluate",
            )


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
                "layers": run.result.get("num_layers"),
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
        "Perplexity per token on held-out books, comparable only on the same "
        "corpus with the same vocabulary; the paper's is on BooksCorpus."
    )
    return tables.Table("Pretraining runs", rows, [note])


def perplexity_table(runs):
    rows = []
    for run in runs:
        found, metrics = run.result, run.metrics()
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
        "Perplexity per token, with the split below; window: tokens that the "
        "model sees at a time; unknown: percent of tokens that are not in the "
        "vocabulary."
    )
    return tables.Table("Perplexity of texts", rows, [note])


def zero_shot_table(runs):
    """Return a table with LABEL_WORDS as the small print below a task."""
    rows = []
    for run in runs:
        found, majority = run.result, run.result.get("majority", {})
        words = run.macro("LABEL_WORDS", tuple | list) or ()
        note = " / ".join(", ".join(map(str, each)) for each in words if each)
        for i, (name, value) in enumerate(found.get("metrics", {}).items()):
            random = None if i else found.get("random")
            row = {
                "task": tables.Cell(tables.task_name(run.task), note),
                "split": found.get("split"),
                "metric": tables.metric_name(name),
                "value": tables.metric_value(name, value),
                "random": tables.metric_value(name, random),
                "majority": tables.metric_value(name, majority.get(name)),
                "examples": found.get("num_examples"),
                "data": run.data,
                "network": run.backbone,
                "workdir": run.path,
            }
            shown = ("metric", "value", "majority") if i else row
            rows.append({name: row[name] for name in shown})
    return tables.Table("Zero-shot tasks", rows)


def results_table(runs):
    """Return the table of everything measured, by kind of run and task."""
    rows, firsts = [], {}
    for run in comparison.join_seeds(runs):
        first = firsts.setdefault((run.kind, run.task), run)
        settings = comparison.differences(first, run)
        others = ", ".join(map(str, run.paths[1:]))
        rows.append(
            {
                "run": run.kind,
                "task": tables.task_name(run.task),
                "split": run.result.get("split"),
                "ablation": run.row if run.kind == "finetune" else "",
                "metrics": "; ".join(_metric_texts(run)),
                "seeds": len(run.seeds),
                "other settings": ", ".join(
                    f"{name} = {value!r}" for name, value in settings.items()
                ),
                "workdir": tables.path(run.path, others),
            }
        )
    note = "Other settings: differences from the first row of run and task."
    return tables.Table("All results", rows, [note])


def _metric_texts(run):
    for name in run.metric_names:
        value = tables.metric_value(name, run.middle(name))
        span = tables.span(name, run.values(name))
        span = f" ({span})" if span else ""
        yield f"{tables.metric_name(name)} {value}{span}"
