"""Every step compiles with XLA from the batches that a TPU would get."""

import keras
import pytest

from gpt1_keras.data import examples
from gpt1_keras.tasks import benchmarks
from tests.reference import counting_books
from tests.reference import small_models
from tests.reference import tiny_learner
from tests.reference import tiny_runs

if keras.config.backend() != "tensorflow":
    pytest.skip("for the TensorFlow backend", allow_module_level=True)

import tensorflow as tf

REPLICAS = 2
BATCH_SIZE = 4 * REPLICAS
# Axes to sum over, which XLA knows when it compiles.
KNOWN = "BroadcastGradientArgs"


def specs(spec, length=None):
    """Return what one replica gets, of this length where `spec` has none."""
    found = {}
    for name, (shape, dtype) in spec.items():
        rest = [length if n is None else n for n in shape[1:]]
        found[name] = tf.TensorSpec([shape[0] // REPLICAS, *rest], dtype)
    return found


def assert_compiles(function, spec):
    """With XLA; return how many graphs were looked at, those of loops too."""
    step = tf.function(
        lambda batch: function(batch), jit_compile=True, autograph=False
    )
    concrete = step.get_concrete_function(spec)
    # Compiles without running; refuses strings and calls of Python.
    zeros = {key: tf.zeros(s.shape, s.dtype) for key, s in spec.items()}
    assert "HloModule" in step.experimental_get_compiler_ir(zeros)(stage="hlo")
    inner = map(concrete.graph._get_function, concrete.graph._functions)
    inner = [getattr(function, "graph", None) for function in inner]
    graphs = [concrete.graph, *filter(None, inner)]
    assert not of_unknown_shape(graphs)
    return len(graphs)


def of_unknown_shape(graphs):
    """Names of tensors that a TPU could not hold."""
    return [
        tensor.name
        for graph in graphs
        for operation in graph.get_operations()
        for tensor in operation.outputs
        if operation.type != KNOWN
        # A loop's condition reads few of its arguments.
        and (operation.type != "Placeholder" or tensor.consumers())
        and tensor.dtype not in (tf.resource, tf.variant)
        and not tensor.shape.is_fully_defined()
    ]


@pytest.fixture(autouse=True)
def policy(request, set_dtype):
    """Half precision, as on a TPU, unless a test is given another."""
    set_dtype(getattr(request, "param", "mixed_bfloat16"))


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"], indirect=True)
def test_pretraining():
    batches = counting_books.training(
        [50, 60], size=BATCH_SIZE, length=tiny_learner.LENGTH
    )
    learner = tiny_learner.language_model(dropout=0.1, micro_batch_size=2)
    # The loops over micro-batches and chunks, with their conditions.
    assert assert_compiles(learner.train_step, specs(batches.spec)) >= 5


@pytest.mark.parametrize("policy", ["float32"], indirect=True)
def test_step_of_a_replica():
    """Around the step above: a seed of its own, and the stop request."""
    learner = tiny_learner.language_model(dropout=0.1)
    learner.stop_request = object()
    spec = specs(tiny_learner.Batches(batch_size=BATCH_SIZE).spec)
    spec["stop_request"] = tf.TensorSpec([], "float32")

    def step(batch):
        batch = dict(batch)
        stop_request = batch.pop("stop_request")
        return learner.replica_step(batch, stop_request)

    assert_compiles(step, spec)


@pytest.mark.parametrize(
    "name, candidates, regression", [("stsb", 2, True), ("race", 4, False)]
)
def test_fine_tuning_and_its_evaluation(name, candidates, regression):
    task = benchmarks.benchmark(name, regression=regression)
    settings = tiny_runs.fine_tuning(microbatch_size=2, bucket_lengths=(8,))
    network = settings.build_network(
        task, small_models.network(), small_models.byte_pairs()
    )
    learner = settings.build_learner(network, task)
    learner.compile(tiny_learner.adam(), jit_compile=False)
    length = settings.bucket_lengths[0]
    target = task.label_space
    shape, dtype = (BATCH_SIZE,), "int32"
    if target.score_range:
        dtype = "float32"
        shape = shape if regression else (BATCH_SIZE, target.num_outputs)
    encoded = object.__new__(examples.EncodedExamples)
    encoded.num_candidates = candidates
    spec = encoded.spec(BATCH_SIZE)
    assert_compiles(learner.call, specs(spec, length))
    spec["labels"] = (shape, dtype)
    assert_compiles(learner.train_step, specs(spec, length))
