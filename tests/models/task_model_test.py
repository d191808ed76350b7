import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.layers import heads
from gpt1_keras.models import task_model
from gpt1_keras.training import learner
from gpt1_keras.training import losses
from gpt1_keras.training import optimizers
from tests.reference import keras_hub_programs
from tests.reference import numpy_gpt1
from tests.reference import small_models

B, C, T = 3, 2, 7


def make(head=None, **changes):
    heads_of = {"sum": (heads.SumHead, 3), "choice": (heads.ChoiceHead, 1)}
    layer = None
    if head is not None:
        cls, num_outputs = heads_of[head]
        layer = cls(
            num_outputs=num_outputs, dropout=0.0, initializer_range=0.02
        )
    model = task_model.GPT1TaskModel(small_models.network(**changes), layer)
    small_models.randomize(model)
    return model


def batch():
    weights = np.random.default_rng(4).integers(0, 2, (B, C, T))
    weights[..., 0], weights[..., 3] = 0, 1
    return {
        "token_ids": small_models.token_ids(B, C, T),
        "token_weights": weights.astype("float32"),
        "extract_position": np.array([[6, 2], [3, 3], [0, 5]], "int32"),
        "labels": np.array([1, 0, 1], "int32"),
    }


def outputs(model, given, **kwargs):
    inputs = {key: given[key] for key in model.input}
    return model(inputs, **kwargs)


@pytest.mark.parametrize("head", ["sum", "choice"])
def test_network_and_losses_equal_numpy(head):
    model, given = make(head), batch()
    arrays = small_models.released_arrays(model.backbone, model.head)
    ids = given["token_ids"].reshape(-1, T)
    hidden = numpy_gpt1.hidden_states(
        arrays, ids, num_positions=12, num_layers=2, num_heads=2
    )
    features = numpy_gpt1.extract_features(hidden, given["extract_position"])
    logits_of = {
        "sum": numpy_gpt1.class_logits,
        "choice": numpy_gpt1.choice_logits,
    }
    logits = logits_of[head](features, arrays)
    assert logits.shape == (B, {"sum": 3, "choice": C}[head])
    found = outputs(model, given)
    for name, expected in (
        ("hidden", hidden),
        ("table", arrays["we"][:26]),
        ("positions", arrays["we"][26:]),
        ("logits", logits),
    ):
        got = small_models.read(found[name])
        np.testing.assert_allclose(got, expected, atol=1e-5, err_msg=name)

    weights = given["token_weights"].reshape(-1, T)
    task = numpy_gpt1.task_losses(logits, given["labels"]).mean()
    for softmax_over, rows in (("tokens", 26), ("released", 38)):
        lm = numpy_gpt1.language_model_losses(
            hidden, arrays["we"][:rows], ids, weights
        )
        loss = losses.TaskLoss(
            task_loss=losses.cross_entropy,
            language_model_loss=losses.LanguageModelLoss(
                chunk_size=64, softmax_over=softmax_over
            ),
            lm_weight=0.5,
        )
        got = loss(
            found, {k: ops.convert_to_tensor(v) for k, v in given.items()}
        )
        got = {name: float(small_models.read(x)) for name, x in got.items()}
        expected = {
            "loss": task + 0.5 * lm.mean(),
            "task_loss": task,
            "lm_loss": lm.mean(),
        }
        assert got == pytest.approx(expected, abs=1e-5)


def test_without_a_head_takes_token_ids_only():
    model, given = make(), batch()
    assert list(model.input) == ["token_ids"]
    found = outputs(model, given)
    assert set(found) == {"hidden", "table", "positions"}
    assert tuple(found["hidden"].shape) == (B * C, T, 8)


def test_tables_and_states_are_of_one_forward_pass():
    # Without a block, hidden states are the embedding itself.
    model, given = make(num_layers=0, embedding_dropout=0.5), batch()
    found = outputs(model, given, training=True)
    hidden, table, positions = (
        small_models.read(found[name])
        for name in ("hidden", "table", "positions")
    )
    assert 0.2 < np.mean(table == 0) < 0.8
    ids = given["token_ids"].reshape(-1, T)
    np.testing.assert_allclose(hidden, table[ids] + positions[:T], atol=1e-6)
    assert small_models.draws(model) == [1, 1]


@pytest.mark.parametrize("on, count", [("tables", 2), ("activations", 1)])
def test_one_draw_of_each_dropout_in_a_training_step(on, count):
    model = make(
        num_layers=1,
        embedding_dropout_on=on,
        embedding_dropout=0.1,
        residual_dropout=0.1,
    )
    language_model = losses.LanguageModelLoss(chunk_size=64)
    trained = learner.Learner(
        model, loss=language_model, scorer=language_model, clip_norm=1.0
    )
    optimizer = optimizers.AdamWithDecay(
        learning_rate=1e-3,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-8,
        weight_decay=0.01,
    )
    trained.compile(optimizer, jit_compile=False)
    # Two updates of one batch each.
    trained.fit(batch(), batch_size=B, epochs=2, verbose=0)
    assert small_models.draws(model) == [2] * (count + 2)


def test_round_trip_by_keras_file_and_preset(tmp_path):
    model, given = make("sum"), batch()
    expected = small_models.read(outputs(model, given)["logits"])
    model.save(tmp_path / "model.keras")
    model.save_to_preset(str(tmp_path / "preset"))
    for read in (
        keras.models.load_model(tmp_path / "model.keras"),
        task_model.GPT1TaskModel.from_preset(str(tmp_path / "preset")),
    ):
        assert type(read.head) is heads.SumHead
        got = small_models.read(outputs(read, given)["logits"])
        np.testing.assert_array_equal(got, expected)


def test_keras_hub_layer_program_for_candidates():
    keras_hub_programs.programs().run_layer_test(
        cls=task_model.FlattenCandidates,
        init_kwargs={"dtype": "int32"},
        input_data=ops.convert_to_tensor(batch()["token_ids"]),
        expected_output_shape=(B * C, T),
        expected_output_data=batch()["token_ids"].reshape(-1, T),
        # It is of ids, which neither a loss nor half precision can be.
        run_training_check=False,
        run_precision_checks=False,
    )


def test_keras_hub_layer_program_for_the_extract_token():
    hidden = np.random.default_rng(0).normal(size=(B, C, T, 8))
    place = batch()["extract_position"]
    keras_hub_programs.programs().run_layer_test(
        cls=task_model.GatherExtract,
        init_kwargs={},
        input_data={
            "hidden": ops.convert_to_tensor(
                hidden.reshape(-1, T, 8), "float32"
            ),
            "extract_position": ops.convert_to_tensor(place),
        },
        expected_output_shape=(B, C, 8),
        expected_output_data=np.take_along_axis(
            hidden, place[..., None, None], axis=2
        )[:, :, 0],
        # Its training step wants inputs that share their first axis.
        run_training_check=False,
        # It gives what it takes: here float32 under every policy.
        run_precision_checks=False,
    )
