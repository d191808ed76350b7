import numpy as np

from gpt1_keras.data.examples import Example as Text
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import predictions


def test_classes_by_hand():
    rows, order = predictions.table(
        [Text("fine", "a\tb"), Text("c:\\dir\nx"), Text("bad")],
        labels=[1, 0, 1],
        predictions=np.array([1, 0, 0]),
        probabilities=[[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]],
        names=("no", "yes"),
    )
    assert order == [2, 1, 0]
    # Without the column of choices, which would be empty.
    assert "".join(predictions.lines([rows[i] for i in order])) == (
        "row\tlabel\tprediction\terror\tprediction_probability\t"
        "label_probability\tprobability_of_no\tprobability_of_yes\t"
        "text\ttext_pair\n"
        "2\tyes\tno\t1\t0.9\t0.1\t0.9\t0.1\tbad\t\n"
        "1\tno\tno\t0\t0.5\t0.5\t0.5\t0.5\tc:\\\\dir\\nx\t\n"
        "0\tyes\tyes\t0\t0.75\t0.75\t0.25\t0.75\tfine\ta\\tb\n"
    )
    # Choices are named by their indices, from 0.
    choices = [Text("a", choices=("\u00fc\t", "c"))]
    rows, _ = predictions.table(choices, [1], np.array([0]), [[0.75, 0.25]])
    _, line = predictions.lines(rows)
    assert "probability_of_0" in rows[0] and line == (
        '0\t1\t0\t1\t0.75\t0.25\t0.75\t0.25\ta\t["\u00fc\\\\t", "c"]\n'
    )


def test_own_rows_keep_their_columns(tmp_path):
    given = [
        {"id": "7", "Review": " fine ", "prediction": "?", "note": ""},
        {"id": "8", "Review": "bad", "given_prediction": "!", "\ud800": [1]},
    ]
    texts = [Text(g["Review"], line=i, given=g) for i, g in zip((2, 5), given)]
    answers = np.array([1, 0]), [[0.25, 0.75], [0.5, 0.5]]
    names = ("no", "yes")
    rows, _ = predictions.table(texts, [None, None], *answers, names=names)
    shares = "prediction_probability\tprobability_of_no\tprobability_of_yes"
    assert predictions.lines(rows) == [
        f"line\tprediction\t{shares}\tid\tReview\tgiven_given_prediction"
        "\tgiven_prediction\t\\\\ud800\n",
        "2\tyes\t0.75\t0.25\t0.75\t7\t fine \t?\t\t\n",
        "5\tno\t0.5\t0.5\t0.5\t8\tbad\t\t!\t[1]\n",
    ]
    _, order = predictions.table(texts, [None, 0], *answers, names=names)
    assert order == [1, 0]  # without a label, the last


def test_confusion_shows_counts_and_shares_of_the_true_class(monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "save", lambda figure, _: figures.append(figure))
    names = ["no $", "a name of more than twenty-four letters"]
    truth, predicted = [0, 0, 0, 0, 1], [0, 0, 0, 1, 1]
    predictions.plot_confusion(truth, predicted, names, "x.png", title="$")
    (axes,) = figures[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert cells == {
        **{(0, 0): "3\n75 %", (1, 0): "1\n25 %"},
        **{(0, 1): "0\n0 %", (1, 1): "1\n100 %"},
    }
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown == ["no $", "a name of m…our letters"]
    assert axes.yaxis_inverted()
