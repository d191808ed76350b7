import json

from gpt1_keras.serving import model_card


def test_text():
    request = {"text": ['a "quoted" é'], "choices": [["b", "c"]]}
    found = model_card.text(
        metrics={"accuracy": 0.91234},
        compared={
            "identical_texts": 0.9987,
            "identical_tokens": 1.0,
            "largest_difference": 2.5e-7,
        },
        labels=["no", "yes"],
        request=request,
        name="sst2",
        preset="out/sst2/preset",
        num_examples=872,
        split="dev",
        weights_dtype="float16",
        num_parameters=5338112,
        sequence_length=512,
        config_sha256="abc",
    )
    for part in ("# sst2", "| accuracy | 0.9123 |", "`no`, `yes`", "99.8700%"):
        assert part in found
    for part in ("2.5e-07", "5,338,112", "float16", "sha256 abc"):
        assert part in found
    (line,) = (x for x in found.splitlines() if x.startswith('{"inputs"'))
    assert json.loads(line) == {"inputs": request}
