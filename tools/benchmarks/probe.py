"""Questions per second of zero-shot RACE: which answer is likeliest?

`shared` computes a document once for all its answers, `repeated` once for
each, as without shared prefixes. Both choose the same answers.
"""

import keras

from tools.benchmarks import contest
from tools.benchmarks import networks

_QUESTIONS = 32


def measure(*, sizes, rounds, data=None):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int.
        data: path of the official files; None: generated sample files.
    """
    from gpt1_keras.runs import sources
    from gpt1_keras.runs import zero_shot
    from gpt1_keras.tasks import zero_shot as tasks

    keras.config.set_dtype_policy("mixed_bfloat16")
    keras.utils.set_random_seed(1)
    pipeline = networks.tokenizer()
    sizes = sizes | {"vocabulary_size": pipeline.vocabulary_size}
    backbone = networks.backbone(**sizes)
    task = tasks.task("race")
    probes = zero_shot.ZeroShotTasks(
        tasks=[task],
        data=sources.BenchmarkFiles(data_dir=data),
        scoring=zero_shot.Scoring(num_examples=_QUESTIONS),
    )
    contenders = {}
    for name in ("shared", "repeated"):
        backbone.can_share_prefix = name == "shared"
        contenders[name] = probes.measurer(task, backbone, pipeline)
    found, metrics = contest.run(
        contenders, rounds=rounds, work=_QUESTIONS, peer_of="shared"
    )
    return {"unit": "questions/s", **found, "metrics": metrics}
