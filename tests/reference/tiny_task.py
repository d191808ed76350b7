"""A task in CoLA's format, and a preset, that fine-tune in seconds."""

import random

import keras

from gpt1_keras.models import backbone
from gpt1_keras.models import builders
from gpt1_keras.runs import presets
from gpt1_keras.text import train_vocabulary
from tests.reference import data_files
from tests.reference import kill_run
from tests.reference import small_models

SIZES = {"train": 160, "dev": 40, "test": 10}
NUM_STEPS = 60
WORDS = "the old captain walked under a tall tree near our gate".split()


def sentence(draws):
    """Return (sentence, label): "1" if it ends in the garden."""
    words = draws.choices(WORDS, k=draws.randint(1, 3))
    last = draws.choice(["garden", "harbour"])
    return " ".join([*words, last]), str(int(last == "garden"))


def write_cola(directory):
    """Write train, dev and test in CoLA's format; return `directory`."""
    draws = random.Random(0)
    for split, size in SIZES.items():
        rows = [sentence(draws) for _ in range(size)]
        lines = [f"x\t{label}\t\t{text}" for text, label in rows]
        if split == "test":
            lines = [f"{i}\t{text}" for i, (text, _) in enumerate(rows)]
            lines.insert(0, "index\tsentence")
        lines = "\n".join(lines) + "\n"
        data_files.write(directory, f"glue/CoLA/{split}.tsv", lines)
    return directory


def write_preset(directory):
    """Save a small `GPT1CausalLM` with a vocabulary of the words."""
    draws = random.Random(1)
    texts = [sentence(draws)[0] for _ in range(200)]
    tokenizer = train_vocabulary.train_bpe(texts, vocabulary_size=80)
    keras.utils.set_random_seed(0)
    sizes = {"vocabulary_size": tokenizer.vocabulary_size, "hidden_dim": 16}
    sizes |= {"max_sequence_length": 32, "num_special_tokens": 0}
    sizes |= {"initializer_range": 0.2, "residual_dropout": 0.1}
    sizes |= {"num_layers": 1}  # Tracing a layer takes longer than training it.
    network = backbone.GPT1Backbone(**small_models.SIZES | sizes)
    presets.save(builders.gpt1_causal_lm(network, tokenizer), directory)
    return directory


class Experiment(kill_run.Experiment):
    """Fine-tuning on the task in processes of their own."""

    gin_files = ("gin/finetune/cola.gin",)

    def make_input(self):
        if not (self.directory / "data").exists():
            write_cola(self.directory / "data")
            write_preset(self.directory / "preset")
        return {
            "DATA_DIR": str(self.directory / "data"),
            "PRESET": str(self.directory / "preset"),
            **{"SEQUENCE_LENGTH": 32, "BATCH_SIZE": 8, "MICROBATCH_SIZE": 4},
            **{"NUM_EPOCHS": 3, "PEAK_LEARNING_RATE": 1e-2, "DTYPE": "float32"},
            "finetune.FineTuning.pool_batches": 2,
            "finetune.FineTuning.bucket_lengths": (16, 32),
            "finetune.FineTuning.evaluation_batch_size": 8,
            "finetune.FineTuning.early_evaluation_steps": (4,),
            "fit.Intervals.log_steps": 1,
            "fit.Intervals.checkpoint_steps": 3,
            "fit.Intervals.num_checkpoints": 2,
        }
