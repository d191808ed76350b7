"""Runs, one module per verb.

Each takes `workdir`, the `pathlib.Path` of the folder it writes to, and
`config_sha256`, which it records in its result, and returns the path of
`result.json`. `preset` is what `presets.find` takes, `paper` are the paper's
metrics, by their names or those of the tasks.
"""
