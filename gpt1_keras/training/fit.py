"""`fit` that logs, evaluates, saves, stops on request and goes on again."""

import contextlib
import pathlib
import signal
import time

import keras
from absl import logging
from keras import ops

from gpt1_keras import checks
from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import loaders
from gpt1_keras.training import callbacks
from gpt1_keras.training import checkpoints as checkpoints_lib
from gpt1_keras.training import strategy as strategy_lib

# -----------------------------------------------------------------------------
# SIGTERM and Ctrl-C as a wish that the run fulfils at the next update.


class StopRequest:
    """Whether the process was asked to stop, and by which signal."""

    def __init__(self):
        self.signal_name = None

    def __bool__(self):
        return self.signal_name is not None


class SharedStopRequest(StopRequest):
    """The wish of any of several workers, which all heed at one update.

    Args:
        asked: `StopRequest` of this process.
    """

    def __init__(self, asked):
        super().__init__()
        self._asked = asked

    @property
    def is_wished(self):
        """Whether this process was asked to stop."""
        return bool(self._asked)

    def settle(self, num_wishes):
        """Hear how many replicas' processes were asked to stop."""
        if num_wishes:
            own = self._asked.signal_name
            self.signal_name = own or "a signal to another worker"


@contextlib.contextmanager
def catch_signals():
    """Catch SIGTERM and SIGINT inside the block; a second one acts at once.

    Yields:
        a `StopRequest`.
    """
    request = StopRequest()
    previous = {}

    def handle(number, frame):
        request.signal_name = signal.Signals(number).name
        restore()

    def restore():
        for number, handler in previous.items():
            signal.signal(number, handler)

    for number in (signal.SIGTERM, signal.SIGINT):
        previous[number] = signal.signal(number, handle)
    try:
        yield request
    finally:
        restore()


# -----------------------------------------------------------------------------
# `fit` that logs, evaluates, saves, stops on request and goes on again.

# Runs expected to take longer hear how to make them shorter.
_LONG_SECONDS = 3600.0


@checks.value_object
class Intervals:
    """Updates between two of each; 0: of all but lines only after the last.

    Attributes:
        log_steps: int. Lines of `metrics.jsonl`.
        checkpoint_steps: int. Checkpoints.
        num_checkpoints: int. How many checkpoints are kept.
        evaluation_steps: int. Evaluations on held-out books.
        sample_steps: int. Sampled paragraphs.
    """

    log_steps: checks.Count
    checkpoint_steps: checks.Index
    num_checkpoints: checks.Count
    evaluation_steps: checks.Index = 0
    sample_steps: checks.Index = 0


def set_dtype(dtype):
    """Make `dtype` the policy of all layers built from now on."""
    try:
        keras.config.set_dtype_policy(dtype)
    except (ValueError, TypeError):
        raise errors.InputError(
            f"DTYPE is {dtype!r}: give 'float32' or 'mixed_bfloat16'"
        ) from None


def fit(
    learner,
    batches,
    *,
    workdir,
    num_steps,
    tokens_per_step,
    intervals,
    periodic,
    strategy=strategy_lib.ONE_DEVICE,
    advice=None,
):
    """Train until `num_steps`, beginning at the last checkpoint if any.

    Args:
        learner: compiled `training.learner.Learner`.
        batches: function of the step (`data.batches`).
        workdir: path.
        num_steps: int. Updates in all.
        tokens_per_step: int, for the speed shown.
        intervals: `Intervals`.
        periodic: list of (every, function `(step, history)`), `every` as
            in `callbacks.Periodically`.
        strategy: `strategy.Strategy` in whose scope the learner was built.
        advice: str, how to make the run shorter, for an estimate of its time
            after the first update. None leaves it to the bar.

    Returns:
        `results.History`, still open, for what the run measures at its end.

    Raises:
        Stopped: on SIGTERM or Ctrl-C, after a checkpoint.
        NonFiniteLoss: the last good checkpoint is kept.
    """
    pathlib.Path(workdir).mkdir(parents=True, exist_ok=True)
    checkpoints = checkpoints_lib.Checkpoints(
        pathlib.Path(workdir) / "checkpoints",
        keep=intervals.num_checkpoints,
        is_written=strategy.is_chief,
    )
    first_step = strategy.share_state(checkpoints.restore(learner), learner)
    history = results.History(workdir, step=first_step)
    if first_step:
        logging.info("continuing after %d of %d updates", first_step, num_steps)
    if first_step < num_steps:
        # A finished run that is continued is not finished any more.
        results.path(workdir).unlink(missing_ok=True)
        with contextlib.ExitStack() as on_error:
            on_error.callback(history.close)
            stop = _train(
                learner,
                batches,
                first_step,
                num_steps=num_steps,
                tokens_per_step=tokens_per_step,
                intervals=intervals,
                periodic=periodic,
                strategy=strategy,
                advice=advice,
                history=history,
                checkpoints=checkpoints,
            )
            if stop:
                raise errors.Stopped(
                    f"stopped by {stop.signal_name} after "
                    f"{_updates(learner)} of {num_steps} updates, saved "
                    f"in {checkpoints.directory}; the same command continues"
                )
            on_error.pop_all()
    return history


def _updates(learner):
    """Return how many updates the learner has made in all."""
    return int(ops.convert_to_numpy(learner.optimizer.iterations))


def _train(
    learner, batches, first_step, *, num_steps, checkpoints, strategy, **more
):
    """Call `fit`; return the `StopRequest` that it may have followed."""
    with (
        catch_signals() as asked,
        console.bar("updates", num_steps, done=first_step) as advance,
    ):
        stop = strategy.stop_request(asked, learner)
        made = _callbacks(
            first_step,
            num_steps=num_steps,
            checkpoints=checkpoints,
            advance=advance,
            stop=stop,
            **more,
        )
        loaded = loaders.load(
            batches, first_step=first_step, num_steps=num_steps - first_step
        )
        try:
            learner.fit(
                loaded, epochs=1, verbose=0, shuffle=False, callbacks=made
            )
        except callbacks.NonFiniteLoss as error:
            # The update before left weights that give no finite loss.
            checkpoints.discard(error.step - 1)
            raise
    return stop


def _callbacks(
    first_step,
    *,
    num_steps,
    tokens_per_step,
    intervals,
    periodic,
    advice,
    history,
    checkpoints,
    advance,
    stop,
):
    announce = _Announcement(first_step, num_steps, advice)

    def show(step, values):
        announce(step)
        perplexity = values.get("perplexity")
        advance(
            1,
            f"loss {values['loss']:.3f}, "
            + (f"perplexity {perplexity:.1f}, " if perplexity else "")
            + f"{values['tokens_per_second']:,.0f} tokens/s",
        )

    return [
        callbacks.StopOnNonFiniteLoss(first_step),
        callbacks.LogMetrics(
            first_step,
            history=history,
            every=intervals.log_steps,
            tokens_per_step=tokens_per_step,
            show=show,
        ),
        *(
            callbacks.Periodically(
                first_step,
                every=every,
                function=lambda step, function=function: function(
                    step, history
                ),
            )
            for every, function in periodic
        ),
        callbacks.SaveCheckpoints(
            first_step,
            checkpoints=checkpoints,
            every=intervals.checkpoint_steps,
            last_step=num_steps,
            stop=stop,
        ),
    ]


class _Announcement:
    """Says after the first update how long the rest will take."""

    def __init__(self, first_step, num_steps, advice):
        self._advice = advice
        self._first_step = first_step
        self._num_steps = num_steps
        self._started = time.monotonic()

    def __call__(self, step):
        if self._advice is None or step != self._first_step + 1:
            return
        left = self._num_steps - step
        seconds = (time.monotonic() - self._started) * left
        advice = ""
        if seconds > _LONG_SECONDS:
            advice = f"; shorter: {self._advice}"
        logging.info(
            "the first update is done, with the building of the graph; at its "
            "pace the other %s would take %s%s",
            f"{left:,}",
            console.duration(seconds),
            advice,
        )


class Advance(keras.callbacks.Callback):
    """Moves a progress bar on with every batch of `predict`.

    Args:
        advance: function of `console.bar`.
        stop: `fit.StopRequest` that ends the work at once, or None where
            it is left to the training around it.
    """

    def __init__(self, advance, stop=None):
        super().__init__()
        self.advance = advance
        self.stop = stop

    def on_predict_batch_end(self, batch, logs=None):
        self.advance(1)
        if self.stop:
            raise errors.Stopped(
                f"stopped by {self.stop.signal_name} during the evaluation; "
                "the same command continues"
            )
