import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.data.examples import Example as Text
from gpt1_keras.evaluation import predictions
from tests.reference import predictions_table


def test_classes_by_hand(tmp_path):
    path = tmp_path / "new" / "predictions.tsv"
    rows, order = predictions.table(
        [Text("fine", "a\tb"), Text("c:\\dir\nx"), Text("bad")],
        labels=[1, 0, 1],
        predictions=np.array([1, 0, 0]),
        probabilities=[[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]],
        names=("no", "yes"),
    )
    assert order == [2, 1, 0]
    predictions.write(path, [rows[i] for i in order])
    # Without the column of choices, which would be empty.
    assert path.read_text() == (
        "row\tlabel\tprediction\terror\tprediction_probability\t"
        "label_probability\tprobability_of_no\tprobability_of_yes\t"
        "text\ttext_pair\n"
        "2\tyes\tno\t1\t0.9\t0.1\t0.9\t0.1\tbad\t\n"
        "1\tno\tno\t0\t0.5\t0.5\t0.5\t0.5\tc:\\\\dir\\nx\t\n"
        "0\tyes\tyes\t0\t0.75\t0.75\t0.25\t0.75\tfine\ta\\tb\n"
    )
    assert predictions_table.read(path)[0] == {
        **{"row": 2, "label": "yes", "prediction": "no", "error": 1.0},
        **{"prediction_probability": 0.9, "label_probability": 0.1},
        "probabilities": {"no": 0.9, "yes": 0.1},
        **{"text": "bad", "text_pair": "", "choices": ()},
    }


def write(folder, texts, labels, predicted, probabilities=None, names=()):
    """Write a table and read it again."""
    path = folder / "p.tsv"
    texts = [Text(text) if isinstance(text, str) else text for text in texts]
    rows, order = predictions.table(
        *(texts, labels, np.array(predicted), probabilities), names=names
    )
    predictions.write(path, [rows[i] for i in order])
    return predictions_table.read(path)


TEXT = st.text(st.characters(codec="utf-8")) | st.sampled_from(
    ["\\t", "\\\\n", "\t\n\r\\", "\u2028\x85\x0b\x1c", "\\u2028", ""]
)


@given(
    st.lists(
        st.tuples(TEXT, TEXT, st.lists(TEXT, min_size=2, max_size=2)),
        min_size=1,
        max_size=5,
    )
)
def test_texts_come_back(tmp_path_factory, texts):
    given_texts = [(a, b, tuple(c)) for a, b, c in texts]
    count = len(texts)
    rows = write(
        *(tmp_path_factory.getbasetemp(), [Text(*t) for t in given_texts]),
        *([0] * count, [0] * count, np.full((count, 2), 0.5)),
    )
    found = [(r["text"], r["text_pair"], r["choices"]) for r in rows]
    assert found == given_texts
    # One line each, for any program that reads lines.
    text = (tmp_path_factory.getbasetemp() / "p.tsv").read_text("utf-8")
    assert len(text.splitlines()) == count + 1


def test_own_rows_keep_their_columns(tmp_path):
    given = [
        {"id": "7", "Review": " fine ", "prediction": "?", "note": ""},
        {"id": "8", "Review": "bad", "prediction": "", "note": None, "n": [1]},
    ]
    rows, _ = predictions.table(
        [Text(g["Review"], line=i, given=g) for i, g in zip((2, 5), given)],
        [None, None],
        np.array([1, 0]),
        [[0.25, 0.75], [0.5, 0.5]],
        names=("no", "yes"),
    )
    shares = "prediction_probability\tprobability_of_no\tprobability_of_yes"
    assert predictions.lines(rows) == [
        f"line\tprediction\t{shares}\tid\tReview\tgiven_prediction\tn\n",
        "2\tyes\t0.75\t0.25\t0.75\t7\t fine \t?\t\n",
        "5\tno\t0.5\t0.5\t0.5\t8\tbad\t\t[1]\n",
    ]
