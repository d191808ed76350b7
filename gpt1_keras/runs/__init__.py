"""The runs, one verb each.

Each takes `workdir`, the `pathlib.Path` of everything it writes, and
`config_sha256`, which goes into its result, and returns the path of
`result.json`.
"""
