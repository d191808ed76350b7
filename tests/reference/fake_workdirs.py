"""Workdirs written by hand: the files that runs leave, without a run."""

import hashlib

from gpt1_keras.evaluation import comparison
from tests.reference import data_files


def write_config(folder, function, **macros):
    """Bind each macro to a parameter of its name; return the hash."""
    bound = [f"{name} = {value!r}" for name, value in sorted(macros.items())]
    used = [f"{function}.{name.lower()} = %{name}" for name in sorted(macros)]
    text = "\n".join([*bound, f"RUN = @{function}", *used]) + "\n"
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    head = f"# python -m gpt1_keras.main\n# config_sha256: {sha256}\n\n"
    data_files.write(folder, "config.gin", head + text)
    return sha256


def finetune(
    folder, task, metrics, *, lstm=False, num_layers=12, seed=42, **macros
):
    """Write a finished fine-tuning; a list of metrics is one for each seed.

    Macros are those of `config.gin` besides the paper's.
    """
    is_one = isinstance(metrics, dict)
    found = [metrics] if is_one else metrics
    seeds = (seed,) if is_one else tuple(range(1, len(metrics) + 1))
    macros = {
        **{"TASK": task, "DATA_DIR": "data", "LM_LOSS_WEIGHT": 0.5},
        **{"NUM_TRANSFERRED_LAYERS": None, "SEED": seed},
        "SEEDS": None if is_one else seeds,
    } | macros
    record = {
        **{"run": "finetune", "task": task, "split": "dev", "paper": {}},
        **{"num_examples": 1043, "num_train_examples": 8551, "seconds": 60.0},
        "config_sha256": write_config(folder, "finetune.finetune", **macros),
        "backbone": "LSTMBackbone" if lstm else "GPT1Backbone",
        "num_layers": num_layers,
        "lm_loss_weight": macros["LM_LOSS_WEIGHT"],
    }
    layers = macros["NUM_TRANSFERRED_LAYERS"]
    record["num_transferred_layers"] = num_layers if layers is None else layers
    for number, each in zip(seeds, found):
        own = folder if is_one else folder / f"seed_{number}"
        values = {"seed": number, "metrics": each}
        data_files.write(own, "result.json", record | values)
    record |= {"seed": seed if is_one else list(seeds), "metrics": found[0]}
    if not is_one:
        record["seeds"] = dict(zip(map(str, seeds), found))
    majority = {name: 0.5 for name in record["metrics"]}
    data_files.write(folder, "result.json", record | {"majority": majority})
    return folder


def evaluations(metric, *pairs, step=100):
    """Return lines of `metrics.jsonl`: evaluations `step` updates apart.

    Each of the pairs is of dev and the train sample.
    """
    lines = [{"step": 10, "loss": 2.0}]
    for i, (dev, train) in enumerate(pairs, 1):
        for split, value in (("dev", dev), ("train_sample", train)):
            lines.append({"step": i * step, "split": split, metric: value})
            lines[-1] |= {"other": 0.0, "seconds": 1.0}
    return lines


def pretrain(folder, lines):
    """Write a finished pretraining with the lines of its `metrics.jsonl`."""
    sha256 = write_config(folder, "pretrain.pretrain", SEED=42)
    data_files.write(folder, "metrics.jsonl", lines)
    record = {
        **{"run": "pretrain", "task": "language_model", "split": "held_out"},
        **{"metrics": {"loss": 3.0, "perplexity": 20.1}, "seed": 42},
        **{"paper": {"perplexity": 18.4}, "num_examples": 1000},
        **{"config_sha256": sha256, "seconds": 10.0, "num_steps": 1000},
        **{"tokens_seen": 512000, "parameters": 116534784},
        **{"backbone": "GPT1Backbone", "num_layers": 12},
    }
    data_files.write(folder, "result.json", record)


def find(folder):
    """Read all runs below a folder."""
    runs, unreadable = comparison.find([folder])
    assert unreadable == []
    return runs


def results(folder):
    """Read all below a folder, runs of several seeds as one."""
    return comparison.join_seeds(find(folder))
