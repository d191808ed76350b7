#!/usr/bin/env bash
# From a fresh clone with nothing but Python 3.11 to 3.13 to a small trained
# model: sets up .venv, writes the sample corpus, pretrains on it, measures the
# perplexity of books held out, samples a paragraph, draws the learning curve.
#
#   tools/quickstart.sh [FOLDER]     results go to FOLDER, out/quickstart if none
#
# Started again after it was stopped, it goes on where it was.
set -euo pipefail

case "${1:-}" in
  -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  "") folder=out/quickstart ;;
  /*) folder=$1 ;;
  *) folder=$PWD/$1 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup_venv.sh
SECONDS=0 # The minutes below are those of computing, without installing.
workdir=$folder/pretrain
run=(python -m gpt1_keras.main
  --gin gin/pretrain.gin --gin gin/model/tiny.gin --gin gin/data/sample.gin
  --workdir "$workdir")

printf '\n$'
printf ' %q' "${run[@]}"
printf '\n\n'
PATH="$PWD/.venv/bin:$PATH" "${run[@]}" </dev/null

.venv/bin/python - "$workdir" <<'PY'
import json
import pathlib
import sys
import textwrap

workdir = pathlib.Path(sys.argv[1])
result = json.loads((workdir / "result.json").read_text())
lines = (workdir / "metrics.jsonl").read_text().splitlines()
samples = [line for line in map(json.loads, lines) if "sample" in line]

print("\nHeld-out books, which the model never saw:")
for name, value in result["metrics"].items():
    shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
    print(f"  {name:<28} {shown}")
if samples:
    print(f"\nA paragraph it wrote after {samples[-1]['step']} updates:\n")
    for line in samples[-1]["sample"].splitlines():
        print(textwrap.indent(textwrap.fill(line, 76), "  "))
PY

cat <<TXT

What lies where (computed in $((SECONDS / 60)) min $((SECONDS % 60)) s):
  $workdir/result.json                the numbers above, with seed and hash
  $workdir/metrics.jsonl              loss, perplexity, speed, samples by step
  $workdir/plots/learning_curve.png   perplexity against updates
  $workdir/tensorboard/               the same for TensorBoard
  $workdir/preset/                    the model: keras_hub's from_preset loads it
  $workdir/checkpoints/               what a stopped run goes on from
  $workdir/config.gin                 every setting; also a --gin file itself

What to try next (after: source .venv/bin/activate):
  a folder of your own .txt books:
    python -m gpt1_keras.main --gin gin/pretrain.gin --gin gin/model/mini.gin \\
      --set "CORPUS = '/path/to/books'" --workdir out/books
  the same run for longer:
    python -m gpt1_keras.main --gin $workdir/config.gin \\
      --set "NUM_STEPS = 2000" --set "EXTEND = True"
  another seed: --set "SEED = 1" --workdir $folder/seed_1
  what each file is for: WORKSPACE.md
TXT
