"""Runs, one module per verb.

Most take `workdir`, the `pathlib.Path` of the folder they write to, and
`config_sha256`, which they record in their result, and return the path of
`result.json`. `preset` is as in `presets.find`; `paper` has the paper's
metrics, {metric: value} or {task: {metric: value}}.
"""
