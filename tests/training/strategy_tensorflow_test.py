"""Strategies that need no second device here; the others in processes."""

import json

import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.training import strategy
from tests.reference import cluster

if keras.config.backend() != "tensorflow":
    pytest.skip("for the TensorFlow backend", allow_module_level=True)

from gpt1_keras.training import strategy_tensorflow


def devices(name, **changes):
    return strategy.Devices(
        **{
            "strategy_name": name,
            "num_replicas": None,
            "tpu": "",
            "jit_compile": False,
        }
        | changes
    )


@pytest.mark.parametrize("name", ["", "local"])
def test_no_tpu(name, monkeypatch):
    monkeypatch.delenv("TPU_NAME", raising=False)
    with pytest.raises(errors.InputError) as found:
        devices("tpu", tpu=name).open()
    message = str(found.value)
    assert message.startswith(f"TPU {name!r} is not there (")
    assert "'local'" in message and "STRATEGY" in message
    assert "\n" not in message and len(message) < 260


class Resolver:
    """In place of `TPUClusterResolver`, which would ask the network."""

    def __init__(self, tpu):
        raise RuntimeError(f"{tpu} is asleep\nand dreams")


def test_tpu_by_name_that_does_not_answer(monkeypatch):
    resolvers = strategy_tensorflow.tf.distribute.cluster_resolver
    monkeypatch.setattr(resolvers, "TPUClusterResolver", Resolver)
    with pytest.raises(
        errors.InputError, match=r"TPU 'mine' is not there \(mine is asleep and"
    ):
        devices("tpu", tpu="mine").open()


def test_workers_without_a_cluster(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(errors.InputError, match="needs TF_CONFIG"):
        devices("multi_worker").open()


@pytest.mark.parametrize("name", ["mirrored", "multi_worker"])
def test_xla_is_refused(name, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    with pytest.raises(errors.InputError, match="JIT_COMPILE is True"):
        devices(name, jit_compile=True).open()


def test_cpu_that_cannot_be_cut_any_more():
    strategy_tensorflow.tf.constant(1) + 1  # TensorFlow has begun.
    with pytest.raises(errors.InputError, match="NUM_REPLICAS is 64"):
        devices("mirrored", num_replicas=64).open()


class FakeStrategy:
    """What `MultiWorker` asks of a `MultiWorkerMirroredStrategy`."""

    num_replicas_in_sync = 4

    def __init__(self, config):
        config = json.loads(config)
        task = config["task"]
        self.task_type, self.task_id = task["type"], task["index"]
        self.cluster_resolver = self
        self._cluster = config["cluster"]

    def cluster_spec(self):
        return strategy_tensorflow.tf.train.ClusterSpec(self._cluster)


@pytest.mark.parametrize("index", [0, 1])
def test_only_the_first_worker_writes(index, tmp_path):
    config = cluster.environments(2)[index]["TF_CONFIG"]
    found = strategy_tensorflow.MultiWorker(FakeStrategy(config))
    assert (found.num_replicas, found.num_workers) == (4, 2)
    assert found.is_chief == (index == 0)
    (tmp_path / "seed_1").mkdir()
    (tmp_path / "seed_1" / "result.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text("1\n")
    (tmp_path / "other.txt").write_text("")
    workdir = found.workdir(tmp_path)
    assert (workdir == tmp_path) == found.is_chief
    # Every worker knows what is done.
    assert (workdir / "seed_1" / "result.json").read_text() == "{}"
    assert (workdir / "metrics.jsonl").read_text() == "1\n"
    assert (workdir / "other.txt").exists() == found.is_chief


def test_a_chief_of_its_own_kind():
    config = {
        "cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]},
        "task": {"type": "worker", "index": 0},
    }
    found = strategy_tensorflow.MultiWorker(FakeStrategy(json.dumps(config)))
    assert found.num_workers == 3 and not found.is_chief
