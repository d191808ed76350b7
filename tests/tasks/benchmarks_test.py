import hypothesis
import pytest
from hypothesis import strategies

from gpt1_keras import errors
from gpt1_keras.data.readers import rows
from gpt1_keras.tasks import benchmarks


def test_names_are_the_twelve_of_the_paper_in_its_order():
    order = (
        "snli mnli qnli rte scitail race story_cloze mrpc qqp stsb sst2 cola"
    )
    assert benchmarks.NAMES == tuple(order.split())


# The paper's metric, tables 2 to 4.
@pytest.mark.parametrize(
    "metric, names",
    [
        (
            "accuracy",
            "snli mnli qnli rte scitail race story_cloze sst2 wnli ax",
        ),
        ("f1", "mrpc qqp"),
        ("pearson", "stsb"),
        ("matthews", "cola"),
    ],
)
def test_first_metric_is_the_papers(metric, names):
    for name in names.split():
        task = benchmarks.benchmark(name)
        assert task.name == name
        found = task.metrics[0]([0, 1, 1], [0, 1, 0])
        assert next(iter(found)) == metric


def test_every_benchmark_has_its_row_counts():
    known = {name.split()[0] for name in rows.OFFICIAL}
    assert known > {*benchmarks.NAMES, "wnli", "ax"}


@pytest.mark.parametrize(
    "name, advice",
    [
        ("sst-2", "did you mean 'sst2'?"),
        ("STS-B", "did you mean 'stsb'?"),
        ("storycloze", "did you mean 'story_cloze'?"),
        ("multinli", "did you mean 'mnli'?"),
        ("scitial", "did you mean 'scitail'?"),
        ("coal", "did you mean 'cola'?"),
    ],
)
def test_typo_names_the_nearest(name, advice):
    with pytest.raises(errors.InputError) as caught:
        benchmarks.benchmark(name)
    assert str(caught.value) == f"there is no benchmark {name!r}: {advice}"


def test_anything_else_lists_all():
    with pytest.raises(
        errors.InputError, match="'xyz': take one of snli, mnli, .*, wnli, ax$"
    ):
        benchmarks.benchmark("xyz")


@hypothesis.given(
    name=strategies.text() | strategies.none() | strategies.integers()
)
def test_any_other_name_is_one_line(name):
    hypothesis.assume(name not in (*benchmarks.NAMES, "wnli", "ax"))
    with pytest.raises(errors.InputError) as caught:
        benchmarks.benchmark(name)
    assert "\n" not in str(caught.value)
