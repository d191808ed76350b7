"""Tables of what runs measured and how they were configured.

Shares are in percent. What no file says is an empty cell.
"""

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

# Macros that say what is run, or hold the paper's numbers.
_NOT_SETTINGS = ("PAPER", "ROWS", "RUN", "TASK")


def pretraining(runs):
    """Return the table of pretraining runs."""
    header = ["workdir", "network", "layers", "parameters", "steps"]
    header += ["tokens seen", "perplexity", "per word", "paper"]
    rows = []
    for run in runs:
        lines = run.lines
        held_out = [line for line in lines if line.get("split") == "held_out"]
        last = run.result.get("metrics") or (held_out[-1] if held_out else {})
        paper = run.result.get("paper", {})
        rows.append(
            [
                tables.path(run.path, "" if run.result else "not finished"),
                run.backbone or "",
                tables.count(run.num_layers),
                tables.count(run.result.get("parameters")),
                tables.count(lines[-1]["step"] if lines else None),
                tables.count(run.result.get("tokens_seen")),
                tables.number(last.get("perplexity")),
                tables.number(last.get("word_perplexity")),
                tables.number(paper.get("perplexity")),
            ]
        )
    note = (
        "Perplexity per token on held-out books. Perplexities on different "
        "corpora or vocabularies are not comparable; the paper's is on "
        "BooksCorpus."
    )
    return tables.Table("Pretraining runs", header, rows, [note])


def perplexity(runs):
    """Return the table of texts scored under a language model."""
    header = ["corpus", "perplexity", "per word", "tokens", "window"]
    header += ["unknown", "preset", "workdir"]
    rows = []
    for run in runs:
        found, metrics = run.result, run.result.get("metrics", {})
        rows.append(
            [
                tables.path(found.get("corpus", ""), found.get("split", "")),
                tables.number(metrics.get("perplexity")),
                tables.number(metrics.get("word_perplexity")),
                tables.count(metrics.get("tokens")),
                tables.count(found.get("sequence_length")),
                tables.percent(found.get("unknown_share")),
                tables.path(found.get("preset", "")),
                tables.path(run.path),
            ]
        )
    note = (
        "Perplexity per token; the small print names the split; window: "
        "tokens that the model sees at a time; unknown: percent of tokens that "
        "are not in the vocabulary."
    )
    return tables.Table("Perplexity of texts", header, rows, [note])


def zero_shot(runs):
    """Return the table of zero-shot tasks on a finished model."""
    header = ["task", "split", "metric", "value", "random", "majority"]
    header += ["examples", "data", "network", "workdir"]
    rows = []
    for run in runs:
        found, majority = run.result, run.result.get("majority", {})
        random = found.get("random")
        for i, (name, value) in enumerate(found.get("metrics", {}).items()):
            row = [
                _task_with_labels(run),
                found.get("split", ""),
                tables.metric_name(name),
                tables.metric_value(name, value),
                tables.metric_value(name, random if i == 0 else None),
                tables.metric_value(name, majority.get(name)),
                tables.count(found.get("num_examples")),
                tables.data(run),
                run.backbone or "",
                tables.path(run.path),
            ]
            rows.append(row if i == 0 else ["", "", *row[2:6], *[""] * 4])
    return tables.Table("Zero-shot tasks", header, rows)


def zero_shot_over_training(run, constants):
    """Return the table of zero-shot scores while pretraining.

    Args:
        run: `comparison.Run` of pretraining.
        constants: see `figure2.zero_shot_rows`; gives the random baselines.

    Returns:
        `tables.Table`, None where nothing was scored.
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

    Args:
        kind: str, such as "finetune".
        runs: list of `comparison.Run`.

    Returns:
        `tables.Table` with a row for each `config.gin`; None where fewer than
        two differ.
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
    """Return the table of everything that was measured.

    Args:
        results: list of `comparison.Result` of all kinds.
    """
    header = ["run", "task", "split", "ablation", "metrics", "seeds", "workdir"]
    rows = [
        [
            result.run.kind or "",
            tables.task_name(result.run.task or ""),
            result.run.result.get("split", ""),
            (result.run.row or "") if result.run.kind == "finetune" else "",
            "; ".join(_metrics(result)),
            tables.count(len(result.seeds)),
            tables.path(
                result.run.path,
                ", ".join(str(run.path) for run in result.runs[1:]),
            ),
        ]
        for result in results
    ]
    return tables.Table("All results", header, rows)


def unreadable(found):
    """Return the table of workdirs that cannot be read.

    Args:
        found: list of (path, what is wrong), from `comparison.find`.
    """
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
