"""Tables of what runs measured and how they were set, for the report.

Shares are in percent. What no file says is an empty cell.
"""

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

# Macros that say what is run, or hold the paper's numbers.
_NOT_SETTINGS = ("PAPER", "ROWS", "RUN", "TASK")


def pretraining(runs):
    """Return the table of pretraining runs."""
    header = ["workdir", "network", "layers", "parameters", "updates"]
    header += ["tokens seen", "perplexity", "per word", "paper"]
    rows = []
    for run in runs:
        lines = run.lines()
        held_out = [line for line in lines if line.get("split") == "held_out"]
        last = run.result.get("metrics") or (held_out[-1] if held_out else {})
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
                tables.number(run.result.get("paper", {}).get("perplexity")),
            ]
        )
    note = (
        "Perplexity on held-out books, per token. Perplexities of different "
        "corpora or vocabularies do not compare; the paper's is of BooksCorpus."
    )
    return tables.Table("Pretraining runs", header, rows, [note])


def perplexity(runs):
    """Return the table of texts scored under a language model."""
    header = ["corpus", "perplexity", "per word", "tokens", "window"]
    header += ["unknown", "preset", "workdir"]
    rows = []
    for run in runs:
        found, metrics = run.result, run.result["metrics"]
        rows.append(
            [
                tables.path(found["corpus"], found["split"]),
                tables.number(metrics.get("perplexity")),
                tables.number(metrics.get("word_perplexity")),
                tables.count(metrics.get("tokens")),
                tables.count(found.get("sequence_length")),
                tables.percent(found.get("unknown_share")),
                tables.path(found["preset"]),
                tables.path(run.path),
            ]
        )
    note = (
        "Perplexity per token; below the corpus the part scored; window: "
        "tokens seen at a time; unknown: percent of the tokens not in the "
        "vocabulary."
    )
    return tables.Table("Perplexity of texts", header, rows, [note])


def zero_shot(runs):
    """Return the table of probes on a finished model."""
    header = ["probe", "split", "metric", "value", "random", "majority"]
    header += ["examples", "data", "network", "workdir"]
    rows = []
    for run in runs:
        result = run.result
        for i, (name, value) in enumerate(result["metrics"].items()):
            random = result.get("random") if i == 0 else None
            majority = result.get("majority", {}).get(name)
            first = [_probe(run), result["split"]]
            rows.append(
                [
                    *(first if i == 0 else ["", ""]),
                    tables.metric_name(name),
                    tables.metric_value(name, value),
                    tables.metric_value(name, random),
                    tables.metric_value(name, majority),
                    tables.count(result["num_examples"]) if i == 0 else "",
                    tables.data(run) if i == 0 else "",
                    (run.backbone or "") if i == 0 else "",
                    tables.path(run.path) if i == 0 else "",
                ]
            )
    return tables.Table("Zero-shot probes", header, rows)


def probes_over_training(run, constants):
    """Return the table of probes while pretraining, None without any.

    Args:
        run: `comparison.Run` of pretraining.
        constants: see `figure2.probe_rows`; the random scores are shown below.
    """
    lines = [line for line in run.lines() if line.get("split") == "probes"]
    names = [name for line in lines for name in line if "_" in name]
    shown = [
        (name, *name.split("_", 1))
        for name in dict.fromkeys(names)
        if name.split("_", 1)[1] in tables.SHARES
    ]
    if not shown:
        return None
    rows = [
        [
            tables.count(line["step"]),
            *(
                tables.metric_value(metric, line.get(name))
                for name, _, metric in shown
            ),
        ]
        for line in lines
    ]
    random = {
        f"{probe}_{each['metric']}": each["random"]
        for probe, each in constants.items()
    }
    rows.append(
        [
            "random",
            *(
                tables.metric_value(metric, random.get(name))
                for name, _, metric in shown
            ),
        ]
    )
    header = ["updates"] + [
        f"{tables.task_name(probe)} {tables.metric_name(metric)}"
        for _, probe, metric in shown
    ]
    title = f"Probes while pretraining: {run.path}"
    return tables.Table(title, header, rows, _of_which_examples(run))


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


def _probe(run):
    """Return the cell of a probe's name, with the words that people gave."""
    words = run.macro("LABEL_WORDS")
    note = " / ".join(", ".join(each) for each in words) if words else ""
    return tables.Cell(tables.task_name(run.task), note)


def _of_which_examples(run):
    """Return a list of notes on what a pretraining was probed with."""
    number = run.macro("NUM_PROBE_EXAMPLES")
    notes = [f"{number:,} examples of each split."] if number else []
    return notes + tables.sample_notes(["all probes"] if run.is_sample else [])


def _metrics(result):
    names = next(iter(result.seeds.values()))
    for name in names:
        value = tables.metric_value(name, result.median(name))
        span = result.span(name)
        if span is not None:
            low, high = (tables.metric_value(name, each) for each in span)
            value += f" ({low} to {high})"
        yield f"{tables.metric_name(name)} {value}"


def _is_setting(name, *sides):
    """Whether people set it: a macro, or a parameter that both sides have."""
    if name.isupper():
        return not name.startswith(_NOT_SETTINGS)
    return all(name in side.parameters for side in sides)


def _setting(run, name):
    values = run.bindings.macros | run.bindings.parameters
    text = repr(values[name]) if name in values else ""
    return tables.Cell(text, is_code=True)
