"""Tables of what runs measured and how they were configured.

Shares are in percent; unknown values are empty cells.
"""

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

# Macros that say what is run, or hold the paper's numbers.
_NOT_SETTINGS = ("PAPER", "ROWS", "RUN", "TASK")


def pretraining(runs):
    """Return the table of pretraining runs."""
    rows = []
    for run in runs:
        lines = run.lines
        held_out = [line for line in lines if line.get("split") == "held_out"]
        last = run.result.get("metrics") or (held_out[-1] if held_out else {})
        paper = run.result.get("paper", {})
        state = "" if run.result else "not finished"
        rows.append(
            {
                "workdir": tables.path(run.path, state),
                "network": run.backbone or "",
                "layers": tables.count(run.num_layers),
                "parameters": tables.count(run.result.get("parameters")),
                "steps": tables.count(lines[-1]["step"] if lines else None),
                "tokens seen": tables.count(run.result.get("tokens_seen")),
                "perplexity": tables.number(last.get("perplexity")),
                "per word": tables.number(last.get("word_perplexity")),
                "paper": tables.number(paper.get("perplexity")),
            }
        )
    note = (
        "Perplexity per token on held-out books. Perplexities on different "
        "corpora or vocabularies are not comparable; the paper's is on "
        "BooksCorpus."
    )
    return tables.from_dicts("Pretraining runs", rows, [note])


def perplexity(runs):
    """Return the table of texts scored under a language model."""
    rows = []
    for run in runs:
        found, metrics = run.result, run.result.get("metrics", {})
        corpus = found.get("corpus", ""), found.get("split", "")
        rows.append(
            {
                "corpus": tables.path(*corpus),
                "perplexity": tables.number(metrics.get("perplexity")),
                "per word": tables.number(metrics.get("word_perplexity")),
                "tokens": tables.count(metrics.get("tokens")),
                "window": tables.count(found.get("sequence_length")),
                "unknown": tables.percent(found.get("unknown_share")),
                "preset": tables.path(found.get("preset", "")),
                "workdir": tables.path(run.path),
            }
        )
    note = (
        "Perplexity per token; the small print names the split; window: "
        "tokens that the model sees at a time; unknown: percent of tokens that "
        "are not in the vocabulary."
    )
    return tables.from_dicts("Perplexity of texts", rows, [note])


def zero_shot(runs):
    """Return the table of zero-shot tasks on a finished model."""
    rows = []
    for run in runs:
        found, majority = run.result, run.result.get("majority", {})
        random = found.get("random")
        for i, (name, value) in enumerate(found.get("metrics", {}).items()):
            of_metric = {
                "metric": tables.metric_name(name),
                "value": tables.metric_value(name, value),
                "random": tables.metric_value(name, None if i else random),
                "majority": tables.metric_value(name, majority.get(name)),
            }
            task = {
                "task": _task_with_labels(run),
                "split": found.get("split", ""),
            }
            more = {
                "examples": tables.count(found.get("num_examples")),
                "data": tables.data(run),
                "network": run.backbone or "",
                "workdir": tables.path(run.path),
            }
            rows.append(of_metric if i else task | of_metric | more)
    return tables.from_dicts("Zero-shot tasks", rows)


def zero_shot_over_training(run, constants):
    """Return the table of zero-shot scores while pretraining, None without.

    Args:
        run: `comparison.Run` of pretraining.
        constants: see `figure2.zero_shot_rows`; gives the random baselines.
    """
    lines = [line for line in run.lines if line.get("split") == "probes"]
    names = dict.fromkeys(name for line in lines for name in line)
    shown = {
        name: name.split("_", 1)
        for name in names
        if "_" in name and tables.is_share(name.split("_", 1)[1])
    }
    if not shown:
        return None
    random = {
        f"{task}_{each['metric']}": each["random"]
        for task, each in constants.items()
    }
    rows = [
        [
            first,
            *(
                tables.metric_value(metric, values.get(name))
                for name, (_, metric) in shown.items()
            ),
        ]
        for first, values in [
            *((tables.count(line["step"]), line) for line in lines),
            ("random", random),
        ]
    ]
    header = ["steps"] + [
        f"{tables.task_name(task)} {tables.metric_name(metric)}"
        for task, metric in shown.values()
    ]
    number = run.macro("NUM_PROBE_EXAMPLES", int)
    notes = [f"{number:,} examples of each split."] if number else []
    notes += tables.sample_notes(["all tasks"] if run.is_sample else [])
    title = f"Zero-shot tasks while pretraining: {run.path}"
    return tables.Table(title, header, rows, notes)


def settings(kind, runs):
    """Return the table of the settings in which runs of one kind differ.

    A row for each `config.gin`; None where fewer than two differ.
    """
    configured = {run.config: run for run in runs if run.config is not None}
    runs = list(configured.values())
    first, *others = runs or [None]
    names = sorted(
        {
            name
            for run in others
            for name in comparison.setting_names(first.bindings, run.bindings)
            if _is_setting(name, first.bindings, run.bindings)
        }
    )
    if not names:
        return None
    rows = [
        [
            tables.path(run.config.parent),
            *(_setting(run, name) for name in names),
        ]
        for run in runs
    ]
    return tables.Table(f"Settings: {kind}", ["workdir", *names], rows)


def all_results(results):
    """Return the table of everything that was measured."""
    rows = []
    for result in results:
        run, *others = result.runs
        is_fine_tuned = run.kind == "finetune"
        rows.append(
            {
                "run": run.kind or "",
                "task": tables.task_name(run.task or ""),
                "split": run.result.get("split", ""),
                "ablation": (run.row or "") if is_fine_tuned else "",
                "metrics": "; ".join(_metrics(result)),
                "seeds": tables.count(len(result.seeds)),
                "workdir": tables.path(
                    run.path, ", ".join(str(each.path) for each in others)
                ),
            }
        )
    return tables.from_dicts("All results", rows)


def unreadable(found):
    """Return the table of workdirs that `comparison.find` cannot read."""
    rows = [[tables.path(path), message] for path, message in found]
    return tables.Table("Unreadable", ["workdir", "reason"], rows)


def _task_with_labels(run):
    """Return the cell of a zero-shot task; LABEL_WORDS as the small print."""
    words = run.macro("LABEL_WORDS", tuple | list) or ()
    note = " / ".join(", ".join(map(str, each)) for each in words if each)
    return tables.Cell(tables.task_name(run.task or ""), note)


def _metrics(result):
    for name in result.metrics:
        value = tables.metric_value(name, result.median(name))
        pair = result.span(name)
        if pair is not None:
            value += f" ({tables.span(name, pair)})"
        yield f"{tables.metric_name(name)} {value}"


def _is_setting(name, *sides):
    """Whether users set it: a macro, or a parameter that both sides have."""
    if name.isupper():
        return not name.startswith(_NOT_SETTINGS)
    return all(name in side.parameters for side in sides)


def _setting(run, name):
    values = run.bindings.macros | run.bindings.parameters
    text = repr(values[name]) if name in values else ""
    return tables.Cell(text, is_code=True)
