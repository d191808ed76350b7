"""Hides TensorFlow: Python imports this first where PYTHONPATH names it."""

import sys

for name in ("tensorflow", "tensorflow_text", "tensorflow_serving", "tf_keras"):
    sys.modules[name] = None  # Importing it fails.
