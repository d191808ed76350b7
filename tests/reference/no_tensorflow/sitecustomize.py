"""Hides TensorFlow: Python imports this first where PYTHONPATH names it."""

import sys


class WithoutTensorflow:
    """A finder of modules that knows no tensorflow, tensorflow_text ..."""

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top.startswith("tensorflow") or top == "tf_keras":
            return None
        return self.finder.find_spec(name, path, target)


sys.meta_path[:] = map(WithoutTensorflow, sys.meta_path)
