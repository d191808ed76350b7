"""GPT-1 (Radford et al. 2018), the whole paper, in Keras 3."""

import os

# Hides log lines of CUDA and absl that appear while TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def __getattr__(name):
    # Loaded on demand, since it imports Keras and everything that a run needs.
    if name == "TextClassifier":
        from gpt1_keras import console

        with console.without_noise():
            from gpt1_keras import text_classifier

        return text_classifier.TextClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
