#!/usr/bin/env bash
# From a fresh clone with nothing but Python 3.11 to 3.13 to a small trained
# model: sets up .venv, writes and prepares the sample corpus, pretrains on it,
# measures the perplexity of books held out, samples a paragraph, draws the
# learning curve, asks it zero-shot which sentences are acceptable, fine-tunes
# it to tell praise from blame, exports that for TensorFlow Serving, and puts
# all on one page.
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
result, probe, sst2, served = (
    json.loads((folder / name / "result.json").read_text())
    for name in ("pretrain", "zero_shot_cola", "sst2", "served")
)
lines = (folder / "pretrain/metrics.jsonl").read_text().splitlines()
samples = [line for line in map(json.loads, lines) if "sample" in line]

print("\nHeld-out books, which the model never saw:")
for name, value in result["metrics"].items():
    shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
    print(f"  {name:<28} {shown}")
if samples:
    print(f"\nA paragraph it wrote after {samples[-1]['step']} updates:\n")
    for line in samples[-1]["sample"].splitlines():
        print(textwrap.indent(textwrap.fill(line, 76), "  "))

print(
    "\nWithout having learnt to, it gives an acceptable sentence a higher"
    f" probability than\nanother in {probe['metrics']['auc']:.1%} of all pairs"
    " (50 % by guessing)."
)
print(
    f"\nFine-tuned on {sst2['num_train_examples']:,} sentences of the sample"
    f" world, it tells praise\nfrom blame with accuracy"
    f" {sst2['metrics']['accuracy']:.3f} ({sst2['majority']['accuracy']:.3f}"
    " by always saying the same)."
    " Exported, it answers\nthe same to"
    f" {served['metrics']['same_predictions']:.1%} of"
    f" {served['metrics']['compared_rows']} sentences."
)
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
