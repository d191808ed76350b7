#!/usr/bin/env bash
# Makes .venv with everything that gpt1_keras needs; needs nothing but Python.
#
#   tools/setup_venv.sh               the TensorFlow backend
#   tools/setup_venv.sh --tests       what tools/check.sh needs too
#   tools/setup_venv.sh --backends    JAX, torch and the page of gin/demo.gin too
#   tools/setup_venv.sh --docs        instead, .venv-docs with what tools/docs.sh needs
#
# Takes the first Python 3.11 to 3.13 it finds; PYTHON=/path/to/python chooses
# another. Installs the versions and checks the hashes of locks/. A second call
# installs nothing unless one of the files changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# torch has a build for each kind of device, under one version: any is right.
venv=.venv
files=(locks/requirements.txt)
for argument in "$@"; do
  case "$argument" in
    --docs) venv=.venv-docs files=(locks/requirements-docs.txt) ;;
    --tests) files+=(locks/requirements-test.txt) ;;
    --backends) files+=(requirements-backends.txt locks/requirements-demo.txt) ;;
    *) echo "tools/setup_venv.sh: unknown argument $argument" >&2; exit 2 ;;
  esac
done

is_usable() {
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
    >/dev/null 2>&1
}

find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 \
    python3.11 python; do
    if is_usable "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  echo "No Python 3.11, 3.12 or 3.13 found: install one, or set PYTHON." >&2
  return 1
}

if ! is_usable "$venv/bin/python"; then
  python=$(find_python)
  echo "Making $venv with $("$python" --version)"
  "$python" -m venv --clear "$venv"
fi

# One stamp for each file that is installed, named after it and its content.
stamp() {
  "$venv/bin/python" - "$venv" "$1" <<'PY'
import hashlib
import sys

venv, name = sys.argv[1:]
with open(name, "rb") as file:
    digest = hashlib.file_digest(file, "sha256").hexdigest()
print(f"{venv}/installed-{name.replace('/', '-')}-{digest}")
PY
}

log=$venv/pip.log
for file in "${files[@]}"; do
  if [[ -e "$(stamp "$file")" ]]; then
    continue
  fi
  echo "Installing $file into $venv (minutes the first time)"
  # pip's own output names the places it downloads from; only errors matter.
  if ! "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
    --progress-bar off -r "$file" >"$log" 2>&1 </dev/null; then
    grep -iE '^ *error' "$log" | sed -E 's#[a-z+]+://[^ ]+#(address)#g' >&2 || true
    echo "pip could not install $file; its whole output is in $log" >&2
    exit 1
  fi
  rm -f "$venv/installed-${file//\//-}"-*
  touch "$(stamp "$file")"
done
