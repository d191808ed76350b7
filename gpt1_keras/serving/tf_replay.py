"""Answer requests with a SavedModel and nothing but TensorFlow.

    python -I tf_replay.py SAVED_MODEL < REQUESTS > ANSWERS

Both files have one JSON object per line: inputs of the default signature, and
its outputs. Importing a module that a server lacks (Keras, this package ...)
fails. TensorFlow Serving includes the operation of tensorflow-text that
WordPiece needs; here it is loaded alone, because tensorflow-text imports Keras.
"""

import importlib.util
import json
import pathlib
import sys

FORBIDDEN = ("keras", "keras_hub", "tf_keras", "gpt1_keras", "spacy", "ftfy")
FORBIDDEN += ("tokenizers", "transformers", "jax", "torch")
# tensorflow-text registers it with and without the prefix "TFText>".
_WORD_PIECE = b"FastWordpieceTokenizeWithOffsets"
_LIBRARY = "python/ops/_fast_wordpiece_tokenizer.so"


def main(saved_model):
    for name in FORBIDDEN:
        sys.modules[name] = None  # Importing it fails.
    import tensorflow as tf

    graphs = pathlib.Path(saved_model, "saved_model.pb")
    if graphs.exists() and _WORD_PIECE in graphs.read_bytes():
        package = importlib.util.find_spec("tensorflow_text").origin
        tf.load_op_library(str(pathlib.Path(package).parent / _LIBRARY))
    model = tf.saved_model.load(saved_model)
    answer = model.signatures["serving_default"]
    for line in sys.stdin:
        texts = json.loads(line).items()
        found = answer(**{k: tf.constant(v, tf.string) for k, v in texts})
        outputs = {k: v.numpy().tolist() for k, v in found.items()}
        print(json.dumps(outputs, default=bytes.decode), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
