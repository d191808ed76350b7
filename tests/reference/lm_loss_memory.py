"""Peak memory of the plain and of the chunked language-model loss.

    python -m tests.reference.lm_loss_memory

computes loss and gradients for 2,048 tokens over 40,478 rows of width 768 on
TensorFlow, each way in a process of its own, and prints by how much the peak
of the resident set grew, and the seconds of the second call.
"""

import json
import os
import resource
import subprocess
import sys
import time

TOKENS, ROWS, WIDTH = 2048, 40478, 768
CHUNK_SIZE = 512


def peak():
    """Return the largest resident set so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def plain(hidden, table, targets, weights):
    import tensorflow as tf

    logits = tf.matmul(hidden, table, transpose_b=True)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    return tf.reduce_sum(losses * weights)


def chunked(hidden, table, targets, weights):
    from gpt1_keras.training import chunked_softmax

    return chunked_softmax.cross_entropy(
        hidden, table, targets, weights, chunk_size=CHUNK_SIZE
    )


def measure(loss):
    """Return growth of the peak in MB, seconds, and the loss."""
    import tensorflow as tf

    draws = tf.random.stateless_normal
    hidden = draws((TOKENS, WIDTH), seed=(0, 0))
    table = 0.02 * draws((ROWS, WIDTH), seed=(0, 1))
    targets = tf.range(TOKENS)
    weights = tf.fill((TOKENS,), 1 / TOKENS)

    @tf.function
    def differentiate(hidden, table):
        with tf.GradientTape() as tape:
            tape.watch([hidden, table])
            value = loss(hidden, table, targets, weights)
        return value, tape.gradient(value, [hidden, table])

    differentiate.get_concrete_function(hidden, table)
    before = peak()
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
        print(
            json.dumps(
                measure({"plain": plain, "chunked": chunked}[sys.argv[1]])
            )
        )
        return
    for name in ("plain", "chunked"):
        result = subprocess.run(
            [sys.executable, "-m", "tests.reference.lm_loss_memory", name],
            env=os.environ | {"KERAS_BACKEND": "tensorflow"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        print(f"{name}: {result.stdout.splitlines()[-1]}")


if __name__ == "__main__":
    main()
