import pytest

from gpt1_keras.data import examples
from gpt1_keras.evaluation import word_baselines as word_baselines_lib
from gpt1_keras.tasks import benchmarks
from tools import word_baselines

STSB = "\t".join(
    "index genre filename year old_index source1 source2 sentence1 sentence2"
    " score".split()
)


@pytest.fixture
def run(capfd):
    def run(*arguments):
        status = word_baselines.main(list(map(str, arguments)))
        return status, *capfd.readouterr()

    return run


@pytest.fixture
def data(tmp_path):
    """STS-B of pairs that share 0 to 4 of 4 words, and CoLA of one word."""
    words = [f"w{i}" for i in range(400)]
    for split, first in (("train", 0), ("dev", 200)):
        rows = []
        for i in range(40):
            a = words[first + 4 * i : first + 4 * i + 4]
            common = i % 5
            b = a[:common] + [f"x{i}{split}{k}" for k in range(4 - common)]
            cells = [i, "g", "f", 1, i, "s", "s", " ".join(a), " ".join(b)]
            rows.append("\t".join(map(str, [*cells, common])))
        write(tmp_path / f"glue/STS-B/{split}.tsv", [STSB, *rows])
        rows = [
            f"a\t{i % 2}\t\t{'good' if i % 2 else 'bad'} text"
            for i in range(40)
        ]
        write(tmp_path / f"glue/CoLA/{split}.tsv", rows)
    return tmp_path


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")


def test_table(data, run):
    status, output, _ = run("--data", data, "stsb", "cola")
    assert status == 0
    header, rule, stsb, cola = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in output.splitlines()
    ]
    assert header[3:] == ["dev", "majority", "words", "overlap"]
    assert set(rule) == {"---"}
    # Overlap is the score itself; no word of dev was seen in training.
    assert stsb[:5] == ["stsb", "pearson", "40", "40", "0.000"]
    assert float(stsb[6]) > 0.99 and abs(float(stsb[5])) < 0.3
    assert cola == ["cola", "matthews", "40", "40", "0.000", "1.000", ""]


def test_fewer_examples(data, run):
    _, output, _ = run("--data", data, "--examples", 12, "stsb")
    assert output.splitlines()[2].split("|")[3].strip() == "12"
    # One example, one label: all that can be learned is the majority.
    status, output, _ = run("--data", data, "--examples", 1, "cola")
    cells = output.splitlines()[2].split("|")
    assert status == 0 and cells[5].strip() == cells[6].strip() == "0.000"


def test_texts_without_words_have_no_baseline_of_words():
    task = benchmarks.benchmark("sst2")
    rows = [examples.Example(text, label=c) for text, c in ("+1", "-0", "+1")]
    assert word_baselines_lib.measure(task, rows, rows) == {}
