"""Foreign and damaged files: every parser gives a result or an InputError.

A check tries a few hundred mutations of a good file for each parser. A long
run takes GPT1_FUZZ_EXAMPLES of each, and prints how they ended:

    GPT1_FUZZ_EXAMPLES=100000 python -m pytest -s tests/fuzz
"""

import collections
import json
import os
import shutil
import types

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.convert import huggingface
from gpt1_keras.data import shards
from gpt1_keras.data.readers import custom
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering
from gpt1_keras.data.readers import zero_shot as readers
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.text import tokenizer
from gpt1_keras.training import checkpoints
from tests.data import shards_test
from tests.data.readers import question_answering_test
from tests.data.readers import zero_shot_test
from tests.reference import data_files
from tests.reference import released_shards
from tests.reference import small_models
from tests.reference import tiny_task
from tests.tools import downloads_test
from tools.downloads import fetch

NUM_EXAMPLES = int(os.environ.get("GPT1_FUZZ_EXAMPLES", 150))
# What has broken parsers, here and elsewhere.
TOKENS = [
    *(b"", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\r", b"\n", b"\t"),
    *(b"NaN", b"1e999", b"-Infinity", b"9" * 5000, b"-1", b"0", b"0.5"),
    *(b"null", b"true", b"[]", b"{}", b'""', b'"a"', b"[" * 2000, b'{"a":'),
    b"{[]: 1}",
    *(b'"', b",", b"]", b"}", b"\\", b"\\ud800", b"\\u0000"),
    b"9007199254740993",
    *("\u2028".encode(), "\x85".encode(), b"=", b"@f()", b"%A", b"<a>", b"&b;"),
]


@st.composite
def mutations(draw, content):
    """A good file with a few spliced places, or any bytes at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=60))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        count = draw(st.integers(0, 6))
        put = draw(st.sampled_from(TOKENS) | st.binary(max_size=4))
        content = content[:start] + put + content[start + count :]
    return content


def read_custom(folder, name, **columns):
    columns = custom.Columns(**{"text": "text", "label": "label"} | columns)
    for is_labelled in (True, False):
        table = custom.read_table(folder / name)
        custom.read_rows(table, columns, is_labelled=is_labelled)
    custom.read_splits(table, columns=columns, dev_fraction=0.5, seed=0)


def open_shards(folder):
    opened = shards.Shards.open(folder)
    opened.summary()
    for name in ("train", "held_out"):
        split = opened.split(name)
        for book, length in enumerate(split.lengths):
            assert len(split.read(book, 0, length)) == length


def write_tokenizer(folder, kind):
    pieces = ["<unk>", "a", "b", "a</w>", "b</w>", "ab</w>", "\n</w>"]
    merges = [("a", "b</w>")]
    if kind == "wordpiece":
        pieces, merges = ["[UNK]", "[NEWLINE]", "a", "b", "##b"], None
    tokenizer.Tokenizer(pieces, merges).save(folder)


def encode(folder):
    read = tokenizer.Tokenizer.from_directory(folder)
    read.decode(read.encode("ab a\nB."))


EMPTY_MODEL = types.SimpleNamespace(
    variables=[], optimizer=types.SimpleNamespace(variables=[])
)


def write_preset(folder):
    tiny_task.write_preset(folder)
    (folder / files.CHECKSUMS).unlink()  # As somebody else's.


def write_theirs(folder):
    """A folder of transformers, as its own files are."""
    model = small_models.language_model(**released_shards.SMALL)
    huggingface.write(model, folder / "theirs")
    shutil.copytree(folder / "theirs", folder, dirs_exist_ok=True)


def write_whole_tokenizer(folder):
    write_theirs(folder)
    (folder / "vocab.json").unlink()


def write_stories(folder):
    stories = map(question_answering_test.story, range(3))
    question_answering_test.write_stories(folder, stories, place="")


def unpack(folder, name):
    fetch.unpack(folder / name, folder / "unpacked", lambda name: True)


RESULT = {
    "run": "finetune", "task": "cola", "split": "dev", "num_examples": 7,
    "metrics": {"accuracy": 0.5}, "paper": {"f1": 1}, "seeds": {"1": {"f1": 2}},
    "pieces": ["a"], "log_probabilities": [-1.5], "config_sha256": "ab",
}  # fmt: skip
GIN = b"""\
import gpt1_keras.files as f
RUN = @pretrain.pretrain
A = [%B, 'x', {'k': (1, True)}]
B = 2.5e-4
pretrain.pretrain.training = @pretrain.Training()
pretrain.Training.seed = %A
s/pretrain.pretrain:
  x = None
"""
RTE = b"index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tWet.\tentailment\n"
# Parser -> the file that is mutated; its content, or what writes it with its
# neighbours; what reads the folder.
PARSERS = {
    "own tsv": ("my.tsv", b"text\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n", lambda f: read_custom(f, "my.tsv")),
    "own csv": ("my.csv", b'text,text_pair,label\n"a ""b""",c,1\nd,e,2.5\n', lambda f: read_custom(f, "my.csv", text_pair="text_pair", is_score=True)),
    "own jsonl": ("my.jsonl", b"".join(b'{"text": "a%d", "choices": ["b", "c"], "label": 1}\n' % i for i in range(3)), lambda f: read_custom(f, "my.jsonl", choices=("choices",))),
    "own labels": ("my.jsonl", b"".join(b'{"text": "a%d", "label": %s}\n' % (i, (b"1.5", b"true")[i % 2]) for i in range(4)), lambda f: read_custom(f, "my.jsonl")),
    "glue": ("RTE/dev.tsv", RTE, lambda f: glue.read_rte(f, "dev")),
    "stsb": ("STS-B/dev.tsv", b"sentence1\tsentence2\tscore\nA\tB\t2.5\n", lambda f: glue.read_stsb(f, "dev")),
    "snli": ("snli_1.0/snli_1.0_dev.jsonl", b'{"sentence1": "A", "sentence2": "B", "gold_label": "neutral"}\n' * 2, lambda f: nli.read_snli(f, "dev")),
    "scitail": ("scitail/scitail_1.0_dev.tsv", b"A\tB\tentails\n", lambda f: nli.read_scitail(f, "dev")),
    "race": ("RACE/dev/high/1.txt", json.dumps(question_answering_test.PASSAGE).encode(), lambda f: question_answering.read_race(f, "dev")),
    "story cloze": (question_answering_test.VALIDATION, write_stories, lambda f: question_answering.read_story_cloze(f, "dev")),
    "lambada": ("lambada_test_plain_text.txt", b"it is late , tom\n", lambda f: readers.read_lambada(f, "test")),
    "dprd": ("test.c.txt", zero_shot_test.DPRD.encode(), lambda f: readers.read_dprd(f, "test")),
    "wsc": ("WSCollection.xml", zero_shot_test.collection(zero_shot_test.SCHEMA.format("x", "A")), lambda f: readers.read_wsc(f, "test")),
    "vocabulary.json": ("vocabulary.json", lambda f: write_tokenizer(f, "bpe"), encode),
    "merges.txt": ("merges.txt", lambda f: write_tokenizer(f, "bpe"), encode),
    "vocabulary.txt": ("vocabulary.txt", lambda f: write_tokenizer(f, "wordpiece"), encode),
    "shard index": ("index.json", shards_test.write, open_shards),
    "result.json": ("result.json", json.dumps(RESULT).encode(), results.read),
    "metrics.jsonl": ("metrics.jsonl", b'{"step": 1, "loss": 2.5, "split": "dev"}\n' * 2, lambda f: results.read_metrics(f / "metrics.jsonl")),
    "checkpoint.json": ("checkpoints/00000002/checkpoint.json", lambda f: checkpoints.Checkpoints(f).save(2, EMPTY_MODEL), lambda f: checkpoints.Checkpoints(f).restore(EMPTY_MODEL)),
    "gin": ("config.gin", GIN, lambda f: bindings.read_text((f / "config.gin").read_bytes().decode("utf-8", "replace")).sha256()),
    "tensors": ("model.safetensors", safetensors_numpy.save({"a": np.zeros((2, 3), "float32")}), huggingface.read_tensors),
    "tokenizer.json": ("tokenizer.json", write_whole_tokenizer, huggingface.read_tokenizer),
    "zip": ("a.zip", downloads_test.zip_of(downloads_test.FILES), lambda f: unpack(f, "a.zip")),
    "tar": ("a.tar.gz", downloads_test.tar_of(downloads_test.FILES), lambda f: unpack(f, "a.tar.gz")),
} | {
    f"preset {name}": (name, write_preset, lambda f: presets.load(causal_lm.GPT1CausalLM, f))
    for name in ("config.json", "task.json", "preprocessor.json", "model.weights.h5")
} | {
    f"transformers {name}": (name, write_theirs, huggingface.read)
    for name in ("config.json", "vocab.json")
}  # fmt: skip
# Those that build a network take a hundredth of the examples.
SLOW = ("preset", "transformers")


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@pytest.mark.parametrize("name", PARSERS)
def test_a_result_or_an_input_error(name, tmp_path):
    file, content, parse = PARSERS[name]
    path = tmp_path / file
    if callable(content):
        content(tmp_path)
        content = path.read_bytes()
    data_files.write(tmp_path, file, content)
    parse(tmp_path)  # A good file is read.
    counts = collections.Counter()

    @hypothesis.settings(
        max_examples=NUM_EXAMPLES // (100 if name.startswith(SLOW) else 1) + 1,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(mutations(content))
    def try_one(mutated):
        path.write_bytes(mutated)
        try:
            parse(tmp_path)
            counts["results"] += 1
        except errors.InputError as error:
            assert str(error).isprintable() and len(str(error)) <= 1000
            counts["input errors"] += 1

    try_one()
    print(f"{name}: {dict(counts)}")
    # Damage of presets is not always seen in so few examples.
    assert counts["input errors"] or name.startswith("preset")
