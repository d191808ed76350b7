#!/usr/bin/env bash
# Writes locks/: the version and hashes of every package that the requirements
# files lead to, for Python 3.11 to 3.13 on any system. Run it after changing
# one of them, or with --upgrade for newer versions of the other packages.
# Needs uv (pip install uv).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock() {
  uv pip compile -q --universal --python-version 3.11 --no-header \
    --no-annotate "$@"
}

together=$(mktemp)
trap 'rm -f "$together"' EXIT
# One version of each package in the files that one .venv takes.
lock requirements{,-test,-demo,-backends}.txt -o "$together" "$@"
for name in requirements{,-test,-demo,-backends,-no-tensorflow}; do
  lock --generate-hashes "$name.txt" -c "$together" -o "locks/$name.txt" "$@"
done
# The site has a venv of its own. Beam needs older versions of some.
lock --generate-hashes requirements-docs.txt -o locks/requirements-docs.txt \
  "$@"
lock --generate-hashes requirements-beam.txt -c requirements.txt \
  -o locks/requirements-beam.txt "$@"
