"""Peak memory of the plain and of the chunked language-model loss.

    python -m tests.reference.lm_loss_memory

computes loss and gradients of tokens over 40,478 rows of width 768 on
TensorFlow (Linux), each way in a process of its own, and prints by how much
the peak of the resident set exceeds what was resident before, and the seconds
of the second call.
"""

import json
import os
import resource
import subprocess
import sys
import time

ROWS, WIDTH = 40478, 768


def peak():
    """Return the largest resident set so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident():
    """Return the resident set of the moment, in MB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return pages * resource.getpagesize() / 2**20


def plain(hidden, table, targets, weights):
    import tensorflow as tf

    logits = tf.matmul(hidden, table, transpose_b=True)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    return tf.reduce_sum(losses * weights)


def chunked(hidden, table, targets, weights, chunk_size):
    from gpt1_keras.training import chunked_softmax

    return chunked_softmax.cross_entropy(
        hidden, table, targets, weights, chunk_size=chunk_size
    )


def measure(tokens, chunk_size):
    """Return MB above those before, seconds, and the loss.

    Args:
        tokens: int.
        chunk_size: int; 0 for the plain loss.
    """
    import tensorflow as tf

    draws = tf.random.stateless_normal
    hidden = draws((tokens, WIDTH), seed=(0, 0))
    table = 0.02 * draws((ROWS, WIDTH), seed=(0, 1))
    targets = tf.range(tokens)
    weights = tf.fill((tokens,), 1 / tokens)

    @tf.function
    def differentiate(hidden, table):
        inputs = hidden, table, targets, weights
        with tf.GradientTape() as tape:
            tape.watch([hidden, table])
            value = (
                chunked(*inputs, chunk_size) if chunk_size else plain(*inputs)
            )
        return value, tape.gradient(value, [hidden, table])

    differentiate.get_concrete_function(hidden, table)
    before = resident()
    differentiate(hidden, table)
    started = time.monotonic()
    value, _ = differentiate(hidden, table)
    return {
        "megabytes": round(peak() - before),
        "seconds": round(time.monotonic() - started, 2),
        "loss": round(float(value), 5),
    }


def main():
    if len(sys.argv) > 1:
        print(json.dumps(measure(*map(int, sys.argv[1:]))))
        return
    for tokens in (2048, 8192):
        for chunk_size in (0, 512, 128):
            command = [sys.executable, "-m", "tests.reference.lm_loss_memory"]
            result = subprocess.run(
                [*command, str(tokens), str(chunk_size)],
                env=os.environ | {"KERAS_BACKEND": "tensorflow"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
            name = f"chunks of {chunk_size}" if chunk_size else "plain"
            print(f"{tokens} tokens, {name}: {result.stdout.splitlines()[-1]}")


if __name__ == "__main__":
    main()
