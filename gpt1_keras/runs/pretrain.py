"""Pretraining: a language model from books (paper, sections 3.1 and 4.1)."""

import pathlib
import shutil

import keras
from absl import logging

from gpt1_keras import errors
from gpt1_keras import progress
from gpt1_keras.data import batches
from gpt1_keras.data import loader
from gpt1_keras.evaluation import learning_curve
from gpt1_keras.evaluation import perplexity
from gpt1_keras.evaluation import samples
from gpt1_keras.models import builders
from gpt1_keras.models import task_model
from gpt1_keras.runs import fitting
from gpt1_keras.runs import result
from gpt1_keras.training import history as history_lib
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from gpt1_keras.training import signals


def pretrain(
    *,
    workdir,
    config_sha256,
    corpus,
    build_backbone,
    build_optimizer,
    batch_size,
    microbatch_size,
    sequence_length,
    num_steps,
    num_epochs,
    clip_norm,
    softmax_chunk,
    evaluation,
    sampling,
    intervals,
    seed,
    dtype,
    jit_compile,
    paper,
):
    """Train a language model, from nothing or from the last checkpoint.

    Args:
        workdir: path of everything the run writes.
        config_sha256: str, goes into the result.
        corpus: `corpora.Corpus`: where text and vocabulary come from.
        build_backbone: function of `vocabulary_size`.
        build_optimizer: function of `num_steps`.
        batch_size: int. Sequences per update.
        microbatch_size: int or None. Sequences per forward pass.
        sequence_length: int. Tokens per sequence.
        num_steps: int or None. Updates; None takes `num_epochs`.
        num_epochs: float. Passes over the training books.
        clip_norm: float. Largest norm of the gradient.
        softmax_chunk: int. Tokens whose logits exist at one time.
        evaluation: `Evaluation`.
        sampling: `Sampling`.
        intervals: `fitting.Intervals`.
        seed: int.
        dtype: str, Keras dtype policy.
        jit_compile: bool. Compile with XLA.
        paper: dict, the paper's numbers, for the result.

    Returns:
        path of `result.json`.
    """
    workdir = pathlib.Path(workdir)
    if result.is_finished(workdir, config_sha256):
        return result.path(workdir)
    fitting.check_batch(batch_size, microbatch_size)
    fitting.set_dtype(dtype)
    keras.utils.set_random_seed(seed)
    shards, tokenizer = corpus.open()
    train = batches.TrainingBatches(
        shards.split("train"),
        batch_size=batch_size,
        sequence_length=sequence_length,
        seed=seed,
    )
    if num_steps is None:
        num_steps = max(1, round(num_epochs * train.num_windows / batch_size))

    network = build_backbone(vocabulary_size=tokenizer.vocabulary_size)
    if sequence_length > network.max_sequence_length:
        raise errors.InputError(
            f"SEQUENCE_LENGTH {sequence_length} is more than the model's "
            f"{network.max_sequence_length} positions: lower it"
        )
    language_model = losses.LanguageModelLoss(chunk_size=softmax_chunk)
    learner = learner_lib.Learner(
        task_model.GPT1TaskModel(network),
        loss=language_model,
        scorer=language_model,
        clip_norm=clip_norm,
        micro_batch_size=microbatch_size,
    )
    learner.compile(
        build_optimizer(num_steps=num_steps), jit_compile=jit_compile
    )
    causal_lm = builders.gpt1_causal_lm(network, tokenizer)
    held_out = HeldOut(evaluation, shards, learner, sequence_length)
    write_sample = sampling.sampler(causal_lm, tokenizer)
    logging.info(
        "%s parameters, %s tokens of vocabulary, %s training tokens, %s "
        "updates of %s x %s",
        f"{network.count_params():,}",
        f"{tokenizer.vocabulary_size:,}",
        f"{int(shards.split('train').lengths.sum()):,}",
        f"{num_steps:,}",
        batch_size,
        sequence_length,
    )

    def evaluate(step, history):
        # The last update is followed by the evaluation on everything.
        if held_out and step < num_steps:
            history.write(
                step, split="held_out", **held_out.measure(evaluation.tokens)
            )

    def sample(step, history):
        text = write_sample(step)
        history.write(step, sample=text)
        logging.info("sample after %d updates: %s", step, text)

    history = fitting.fit(
        learner,
        train,
        workdir=workdir,
        num_steps=num_steps,
        tokens_per_step=batch_size * sequence_length,
        intervals=intervals,
        periodic=[
            (intervals.evaluation_steps, evaluate),
            (intervals.sample_steps, sample),
        ],
    )
    with signals.catch() as stop:
        metrics = held_out.final(history, num_steps, stop)
    _save_preset(causal_lm, workdir / "preset")
    learning_curve.plot(history.path, workdir / "plots" / "learning_curve.png")
    result.write(
        workdir,
        run="pretrain",
        task="language_model",
        split="held_out",
        metrics=metrics,
        paper=paper,
        num_examples=metrics.get("tokens", 0),
        seed=seed,
        config_sha256=config_sha256,
        seconds=history.seconds,
        num_steps=num_steps,
        tokens_seen=num_steps * batch_size * sequence_length,
        parameters=network.count_params(),
    )
    logging.info("finished: %s", result.path(workdir))
    return result.path(workdir)


class Evaluation:
    """How held-out text is scored.

    Args:
        stride: int. Tokens by which the window moves; each token sees at
            least `sequence_length - stride` tokens before it.
        batch_size: int. Windows per forward pass.
        tokens: int. Held-out tokens scored during training.
        final_tokens: int or None. Those scored at the end; None scores all.
    """

    def __init__(self, *, stride, batch_size, tokens, final_tokens):
        self.stride = stride
        self.batch_size = batch_size
        self.tokens = tokens
        self.final_tokens = final_tokens


class Sampling:
    """How a paragraph is written now and then.

    Args:
        prompt: str.
        num_tokens: int, cut to the model's positions.
        top_k: int.
        temperature: float.
    """

    def __init__(self, *, prompt, num_tokens, top_k, temperature):
        self.options = {
            "prompt": prompt,
            "num_tokens": num_tokens,
            "top_k": top_k,
            "temperature": temperature,
        }

    def sampler(self, causal_lm, tokenizer):
        """Return a function from a seed to a paragraph."""
        length = causal_lm.backbone.max_sequence_length
        num_tokens = min(self.options["num_tokens"], length)
        return samples.Sampler(
            causal_lm, tokenizer, **self.options | {"num_tokens": num_tokens}
        )


class HeldOut:
    """The held-out books of a corpus and how they are scored.

    Args:
        evaluation: `Evaluation`.
        shards: `data.shards.Shards`.
        learner: `training.learner.Learner`.
        sequence_length: int.
    """

    def __init__(self, evaluation, shards, learner, sequence_length):
        self._evaluation = evaluation
        self._split = shards.split("held_out")
        self._learner = learner
        self._sequence_length = sequence_length

    def __bool__(self):
        return len(self._split.lengths) > 0

    def final(self, history, step, stop):
        """Measure after the last update and record it, unless it is there.

        Args:
            history: `history.History`, closed on return.
            step: int. The last update.
            stop: `signals.StopRequest` that interrupts the work.

        Returns:
            dict as `measure`; empty without held-out books.
        """
        metrics = {}
        for line in history_lib.read(history.path):
            if line["step"] == step and line.get("split") == "held_out":
                metrics = {name: line[name] for name in perplexity.METRICS}
        if self and not metrics:
            metrics = self.measure(self._evaluation.final_tokens, stop)
            history.write(step, split="held_out", **metrics)
        history.close()
        return metrics

    def measure(self, tokens, stop=None):
        """Return loss and perplexities (`evaluation.perplexity`).

        Args:
            tokens: int. Tokens scored, from the beginnings of the books;
                None scores all.
            stop: `signals.StopRequest` that interrupts the work, or None.
        """
        scored = batches.HeldOutBatches(
            self._split,
            batch_size=self._evaluation.batch_size,
            sequence_length=self._sequence_length,
            stride=min(self._evaluation.stride, self._sequence_length - 1),
            limit=tokens,
        )
        words = self._split.words.sum() / self._split.lengths.sum()
        with progress.bar("held-out perplexity", len(scored)) as advance:
            return perplexity.perplexity(
                self._learner,
                loader.load(scored, first_step=0, num_steps=len(scored)),
                num_words=float(words * scored.num_scored),
                callbacks=[fitting.Advance(advance, stop)],
            )


def _save_preset(causal_lm, directory):
    temporary = directory.with_name(f".{directory.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    causal_lm.save_to_preset(str(temporary))
    shutil.rmtree(directory, ignore_errors=True)
    temporary.rename(directory)
