#!/usr/bin/env bash
# From a fresh clone with nothing but Python 3.11 to 3.13 to a green test run:
# sets up .venv, then checks format and lints (changes no file) and tests.
#
#   tools/check.sh                  everything but the slow tests
#   tools/check.sh --slow           the slow tests too
#   tools/check.sh --no-backends    without installing and testing JAX and torch
#   tools/check.sh [...] ARGUMENT   further arguments go to pytest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

slow=no
backends=yes
arguments=()
for argument in "$@"; do
  case "$argument" in
    --slow) slow=yes ;;
    --no-backends) backends=no ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) arguments+=("$argument") ;;
  esac
done

report() {
  local status=$?
  local word=passed
  ((status == 0)) || word=FAILED
  printf 'tools/check.sh %s after %d min %02d s\n' \
    "$word" $((SECONDS / 60)) $((SECONDS % 60))
}
trap report EXIT

deselected=()
[[ "$slow" == yes ]] || deselected+=("not slow")
if [[ "$backends" == yes ]]; then
  tools/setup_venv.sh --tests --backends
else
  tools/setup_venv.sh --tests
  deselected+=("not backends")
fi
marks=""
for mark in "${deselected[@]+"${deselected[@]}"}"; do
  marks+="${marks:+ and }$mark"
done

export TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-2}"
# XLA compiles a tiny network for longer than it runs. With --slow, it compiles
# as it does for users.
xla=""
[[ "$slow" == yes ]] || xla=--xla_cpu_use_fusion_emitters=false
.venv/bin/ruff format --check .
.venv/bin/ruff check .
test() {
  .venv/bin/python -m pytest -q --durations=10 ${marks:+-m "$marks"} \
    -n "${PYTEST_PROCESSES:-2}" --dist loadfile "$@" </dev/null
}
XLA_FLAGS="$xla${xla:+ --xla_backend_optimization_level=0}" \
  test "${arguments[@]+"${arguments[@]}"}"
# Where the backend matters, the others too: not what reads text, files or
# arguments.
keras_tests=(
  tests/layers
  tests/models/{backbone,causal_lm,generation}_test.py
  tests/models/{lstm_backbone,shared_prefix,task_model,transfer}_test.py
  tests/training tests/precision_test.py
  tests/evaluation/text_view_test.py tests/runs/perplexity_test.py
  tests/runs/finetune_test.py::test_{learns_the_task,preset_is_the_best_model_on_dev}
)
if [[ "$backends" == yes && ${#arguments[@]} == 0 ]]; then
  for backend in jax torch; do
    echo "KERAS_BACKEND=$backend"
    # Each core has a process: torch's threads cost more than they save.
    OMP_NUM_THREADS=1 XLA_FLAGS="$xla" KERAS_BACKEND=$backend \
      test "${keras_tests[@]}"
  done
fi
