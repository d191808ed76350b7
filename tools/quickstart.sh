#!/usr/bin/env bash
# From a fresh clone with nothing but Python 3.11 to 3.13 to a small trained
# model: sets up .venv, writes and prepares the sample corpus, pretrains on it,
# measures perplexity on held-out books, samples a paragraph, plots the learning
# curve, judges zero-shot which sentences are acceptable, fine-tunes a sentiment
# classifier, exports it for TensorFlow Serving, and writes a report.
#
#   tools/quickstart.sh [FOLDER]     results go to FOLDER, out/quickstart if none
#
# After a stop, the same command resumes.
set -euo pipefail

case "${1:-}" in
  -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  "") folder=out/quickstart ;;
  /*) folder=$1 ;;
  *) folder=$PWD/$1 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup_venv.sh
SECONDS=0 # The time below excludes installation.
workdir=$folder/pretrain
run() {
  local command=(python -m gpt1_keras.main "$@")
  printf '\n$'
  printf ' %q' "${command[@]}"
  printf '\n\n'
  PATH="$PWD/.venv/bin:$PATH" "${command[@]}" </dev/null
}

run --gin gin/prepare.gin --gin gin/data/sample.gin --workdir "$folder/corpus"
run --gin gin/pretrain.gin --gin gin/model/tiny.gin --gin gin/data/sample.gin \
  --set "CORPUS = '$folder/corpus'" --workdir "$workdir"
run --gin gin/zero_shot/cola.gin --set "PRESET = '$workdir'" \
  --workdir "$folder/zero_shot_cola"
run --gin gin/finetune/sst2.gin --gin gin/finetune/tiny.gin \
  --set "PRESET = '$workdir'" --workdir "$folder/sst2"
run --gin gin/export.gin --set "PRESET = '$folder/sst2'" \
  --workdir "$folder/served"
run --gin gin/report.gin --set "RESULTS = '$folder'" --workdir "$folder/report"

.venv/bin/python - "$folder" <<'PY'
import json
import pathlib
import sys
import textwrap

folder = pathlib.Path(sys.argv[1])
result, task, sst2, served = (
    json.loads((folder / name / "result.json").read_text())
    for name in ("pretrain", "zero_shot_cola", "sst2", "served")
)
lines = (folder / "pretrain/metrics.jsonl").read_text().splitlines()
samples = [line for line in map(json.loads, lines) if "sample" in line]

print("\nOn held-out books:")
for name, value in result["metrics"].items():
    shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
    print(f"  {name:<28} {shown}")
if samples:
    print(f"\nA paragraph sampled after {samples[-1]['step']} steps:\n")
    for line in samples[-1]["sample"].splitlines():
        print(textwrap.indent(textwrap.fill(line, 76), "  "))

print(
    "\nZero-shot, an acceptable sentence is more probable than an unacceptable"
    f" one in\n{task['metrics']['auc']:.1%} of all pairs (random: 50 %)."
)
print(
    f"\nFine-tuned on {sst2['num_train_examples']:,} sentences of the sample"
    f" world, its sentiment accuracy is\n{sst2['metrics']['accuracy']:.3f}"
    f" (majority class: {sst2['majority']['accuracy']:.3f}). The exported model"
    f" gives the same answer to\n{served['metrics']['same_predictions']:.1%} of"
    f" {served['metrics']['compared_rows']} sentences."
)
PY

cat <<TXT

What lies where (computed in $((SECONDS / 60)) min $((SECONDS % 60)) s):
  $workdir/result.json                the numbers above, with seed and hash
  $workdir/metrics.jsonl              loss, perplexity, speed, samples by step
  $workdir/plots/learning_curve.png   perplexity against steps
  $workdir/tensorboard/               the same for TensorBoard
  $workdir/preset/                    the model: keras_hub's from_preset loads it
  $workdir/checkpoints/               what a stopped run resumes from
  $workdir/config.gin                 every setting; also a --gin file itself
  $folder/corpus/                             the books as token shards, with the tokenizer
  $folder/sst2/                               the same for the fine-tuned model
  $folder/served/saved_model/1/               that for TensorFlow Serving; takes plain text
  $folder/report/report.html                  all of it on one page

What to try next (after: source .venv/bin/activate):
  a folder of your own .txt books:
    python -m gpt1_keras.main --gin gin/pretrain.gin --gin gin/model/mini.gin \\
      --set "CORPUS = '/path/to/books'" --workdir out/books
  your own rows, a .csv with the columns text and label:
    python -m gpt1_keras.main --gin gin/finetune/custom.gin \\
      --gin gin/finetune/tiny.gin --set "TRAIN_FILE = 'rows.csv'" \\
      --set "PRESET = '$workdir'" --workdir out/rows
  the same run for longer:
    python -m gpt1_keras.main --gin $workdir/config.gin \\
      --set "NUM_STEPS = 2000" --set "EXTEND = True"
  another seed: --set "SEED = 1" --workdir $folder/seed_1
  what each file is for: WORKSPACE.md
TXT
