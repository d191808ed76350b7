import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.convert import openai
from tests.reference import released_shards
from tests.reference import small_models
from tests.reference.data_files import rewrite
from tests.reference.data_files import rewrite_json

# Twelve shards: one empty, one of a single number, and 10 after 2.
ENDS = [1, 95, 95, 96, 700, 1003, 1204, 1500, 1777, 2019, 2222]


def test_weights_vocabulary_and_configuration(tmp_path, monkeypatch):
    arrays = released_shards.write_small(tmp_path, ENDS)
    model = openai.read(tmp_path, num_heads=2)
    np.testing.assert_equal(
        small_models.released_arrays(model.backbone), arrays
    )
    tokenizer = model.preprocessor.tokenizer
    assert tokenizer.pipeline.sha256 == small_models.byte_pairs().sha256
    assert model.preprocessor.sequence_length == 12
    config = model.backbone.get_config()
    expected = small_models.SIZES | released_shards.SMALL
    expected |= {name: 0.1 for name in expected if name.endswith("dropout")}
    assert expected.items() <= config.items()
    # In the released network, 12 heads have 768 columns.
    wide = {"hidden_dim": 128, "intermediate_dim": 512}
    monkeypatch.setattr(released_shards, "SMALL", released_shards.SMALL | wide)
    released_shards.write_small(tmp_path / "wide")
    assert openai.read(tmp_path / "wide").backbone.num_heads == 2


def remove(name):
    return lambda folder: (folder / name).unlink()


SHAPES, SHARD = "params_shapes.json", "params_4.npy"
NAN = np.float32("nan").tobytes()
NOT_NPY = r"params_4\.npy is missing, truncated or not an \.npy"
# What spoils the folder; what is said.
MISTAKES = [
    (remove(SHAPES), f"{SHAPES} is missing"),
    (remove(openai.VOCABULARY), r"bpe_40000.json cannot be read \(No such"),
    (remove("params_3.npy"), r"params_3\.npy is missing"),
    (remove("params_11.npy"), "11 shards hold 2222 numbers, .* lists 2320"),
    (rewrite_json(SHAPES, lambda s: s[:-1]), r"as \[512, 768\], 2 and 12"),
    (
        rewrite_json(SHAPES, lambda s: [*s[:2], [1, 24, 8], *s[3:]]),
        r"c_attn/w has shape \[24, 8\], expected \[8, 24\]",
    ),
    (rewrite(SHARD, lambda x: x[:-3]), NOT_NPY),
    (rewrite(SHARD, lambda x: b"PK\3\4" + x), NOT_NPY),
    (rewrite(SHARD, lambda x: x.replace(b"<f4", b"<i4")), NOT_NPY),
    (rewrite("params_6.npy", lambda x: x[:-4] + NAN), "h0/.+ contains NaN"),
    (
        rewrite_json(openai.VOCABULARY, lambda x: x | {"é": 60}),
        "has 61 tokens, the token table 60 rows",
    ),
]


@pytest.mark.parametrize("spoil, expected", MISTAKES)
def test_mistakes_name_the_folder(tmp_path, spoil, expected):
    released_shards.write_small(tmp_path, ENDS)
    spoil(tmp_path)
    with pytest.raises(errors.InputError, match=f"{tmp_path}.*{expected}"):
        openai.read(tmp_path, num_heads=2)
