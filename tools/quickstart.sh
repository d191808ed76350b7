#!/usr/bin/env bash
# From a fresh clone with nothing but Python 3.11 to 3.13 to a small trained
# model: sets up .venv, generates and prepares the sample corpus, pretrains,
# measures perplexity on held-out books, plots the learning curve, judges
# zero-shot which sentences are acceptable, trains a classifier and compares it
# with TF-IDF, exports it for TensorFlow Serving, generates text with the small
# and the shipped model, and writes a report.
#
#   tools/quickstart.sh [FOLDER]    results go to FOLDER, else to out/quickstart
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
  local word
  for word in "${command[@]}"; do
    case "$word" in
      *" "*) printf ' "%s"' "$word" ;; # --set "NAME = VALUE", as in README.md
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n\n'
  PATH="$PWD/.venv/bin:$PATH" "${command[@]}" </dev/null
}

run --gin gin/prepare.gin --gin gin/data/sample.gin --workdir "$folder/corpus"
run --gin gin/pretrain.gin --gin gin/model/tiny.gin --gin gin/data/sample.gin \
  --set "CORPUS = '$folder/corpus'" --workdir "$workdir"
run --gin gin/zero_shot/cola.gin --set "PRESET = '$workdir'" \
  --workdir "$folder/zero_shot_cola"

# Labelled rows as a user has them: opinions, from the sample SST-2.
[ -e "$folder/opinions.csv" ] || .venv/bin/python - "$folder" <<'PY'
import csv
import pathlib
import sys

from gpt1_keras.sample_world import benchmarks

folder = pathlib.Path(sys.argv[1])
sample = folder / "sample_benchmarks"
benchmarks.write_benchmarks(sample, num_train=1000, num_dev=250, num_test=250)
lines = (sample / "glue/SST-2/train.tsv").read_text().splitlines()
with open(folder / "opinions.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["text", "label"])
    for line in lines[1:]:
        text, label = line.split("\t")
        writer.writerow([text, {"0": "bad", "1": "good"}[label]])
PY
run --gin gin/finetune/custom.gin --gin gin/finetune/tiny.gin \
  --set "TRAIN_FILE = '$folder/opinions.csv'" --set "PRESET = '$workdir'" \
  --workdir "$folder/opinions"
run --gin gin/export_custom.gin --set "PRESET = '$folder/opinions'" \
  --set "TEST_FILE = '$folder/opinions/dev.jsonl'" --workdir "$folder/served"

# What the shipped model of novels writes.
run --gin gin/generate.gin --set "PROMPT = 'It was a dark night, and'" \
  --set "NUM_TOKENS = 80"

run --gin gin/report.gin --set "RESULTS = '$folder'" --workdir "$folder/report"

.venv/bin/python - "$folder" <<'PY'
import json
import pathlib
import sys
import textwrap

folder = pathlib.Path(sys.argv[1])
result, task, own, served = (
    json.loads((folder / name / "result.json").read_text())
    for name in ("pretrain", "zero_shot_cola", "opinions", "served")
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
    f" one in\n{100 * task['metrics']['auc']:.1f} % of all pairs (random: 50 %)."
)
print(
    f"\nFine-tuned on {own['num_train_examples']:,} labelled opinions, its"
    f" accuracy on {own['num_examples']} others is"
    f" {own['metrics']['accuracy']:.3f};\nTF-IDF with logistic regression:"
    f" {own['baselines']['words']['accuracy']:.3f}; majority class:"
    f" {own['majority']['accuracy']:.3f}.\nThe exported model gives the same"
    f" answer to {100 * served['metrics']['same_predictions']:.1f} % of"
    f" {served['metrics']['compared_rows']} opinions."
)
PY

cat <<TXT

What was written (computed in $((SECONDS / 60)) min $((SECONDS % 60)) s):
  $workdir/result.json                the numbers above, with the seed
  $workdir/metrics.jsonl              loss, perplexity, speed, samples by step
  $workdir/plots/learning_curve.png   perplexity against steps
  $workdir/tensorboard/               the same for TensorBoard
  $workdir/preset/                    the model, for keras_hub's from_preset
  $workdir/checkpoints/               what a stopped run resumes from
  $workdir/config.gin                 every setting; also a --gin file itself
  $folder/corpus/                             the books as token shards, with the tokenizer
  $folder/opinions/                           the same files for the classifier
  $folder/served/saved_model/1/               the classifier for TensorFlow Serving; takes plain text
  $folder/report/report.html                  all of it on one page

What to try next (after: source .venv/bin/activate):
  a folder of your own .txt books:
    python -m gpt1_keras.main --gin gin/pretrain.gin --gin gin/model/mini.gin \\
      --set "CORPUS = '/path/to/books'" --workdir out/books
  your own rows, a .csv with the columns text and label, from the shipped model:
    python -m gpt1_keras.main --gin gin/finetune/custom.gin \\
      --gin gin/finetune/mini.gin --set "TRAIN_FILE = 'rows.csv'" \\
      --workdir out/rows
  the same run for longer:
    python -m gpt1_keras.main --gin $workdir/config.gin \\
      --set "NUM_STEPS = 2000" --set "EXTEND = True"
  the classifier on a local web page (after: pip install -r requirements-demo.txt):
    python -m gpt1_keras.main --gin gin/demo.gin --set "PRESET = '$folder/opinions'"
  what each file is for: WORKSPACE.md
TXT
