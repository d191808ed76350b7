import json

from gpt1_keras.serving import model_card

REQUEST = {"text": ['a "quoted" é'], "choices": [["b", "c"]]}


def card(**changes):
    facts = dict(
        metrics={"accuracy": 0.91234},
        identity={},
        training={},
        compared={
            "identical_texts": 0.9987,
            "identical_tokens": 1.0,
            "largest_difference": 2.5e-7,
        },
        labels=["no", "yes"],
        request=REQUEST,
        name="sst2",
        preset="out/sst2/preset",
        num_examples=872,
        split="dev",
        weights_dtype="float16",
        num_parameters=5338112,
        sequence_length=512,
        config_sha256="abc",
    )
    return model_card.text(**facts | changes)


def test_text():
    found = card()
    for part in ("# sst2", "| accuracy | 0.9123 |", "`no`, `yes`", "99.8700%"):
        assert part in found
    for part in ("2.5e-07", "5,338,112", "float16", "sha256 abc"):
        assert part in found
    (line,) = (x for x in found.splitlines() if x.startswith('{"inputs"'))
    assert json.loads(line) == {"inputs": REQUEST}
    assert "Nothing is known of it" in found


def test_training():
    found = card(training={"training examples": "8,551", "seed": "42"})
    assert "| training examples | 8,551 |\n| seed | 42 |" in found
    assert "Nothing is known of it" not in found


def test_identity():
    found = card(
        identity={
            "paragraphs": 12345,
            "identical_paragraphs": 0.9975,
            "identical_paragraph_tokens": 0.99995,
        }
    )
    assert "On 12,345 paragraphs" in found
    assert "99.7500%" in found and "99.9950%" in found
