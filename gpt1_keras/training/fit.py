"""Resumable training loop around `fit`: logs, checkpoints, graceful stop."""

import contextlib
import os
import signal
import threading

import keras
from absl import logging
from keras import ops

from gpt1_keras import checks
from gpt1_keras import console
from gpt1_keras import device
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import loaders
from gpt1_keras.training import callbacks
from gpt1_keras.training import checkpoints as checkpoints_lib
from gpt1_keras.training import peak as peak_lib
from gpt1_keras.training import strategy as strategy_lib


@checks.value_object
class Intervals:
    """Intervals in steps; 0: never (checkpoints: only after the last step)."""

    log_steps: checks.Count  # between two lines of `metrics.jsonl`
    checkpoint_steps: checks.Index
    num_checkpoints: checks.Count  # that are kept
    # In pretraining: between evaluations on held-out books, between samples.
    evaluation_steps: checks.Index = 0
    sample_steps: checks.Index = 0
    # A checkpoint is also saved when the last one is this old; 0: never.
    checkpoint_minutes: checks.NotNegative = 0


class StopRequest:
    """Truthy once the process has been asked to stop; names the signal.

    Several workers stop at the same step, once all have heard of it.
    """

    def __init__(self):
        self.signal_name = None  # of the signal that this process received
        self.is_heard = None  # whether by all workers; None: one process only

    def __bool__(self):
        if self.is_heard is None:
            return self.signal_name is not None
        return self.is_heard


@contextlib.contextmanager
def catch_signals():
    """Yield a `StopRequest` that SIGTERM, SIGINT (Ctrl-C) and SIGHUP set.

    Under nohup, SIGHUP stays ignored. After the first signal, a Ctrl-C works as
    outside the block, while other signals change nothing, because a terminal
    that closes sends several at once. Outside the main thread, nothing sets the
    request: Python allows no handlers there.

    Python calls a handler only after the operation in progress, often a whole
    step. So a separate thread acknowledges the first signal at once, and exits
    if Ctrl-C follows during that operation.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    # Handlers outside the block; all known before a signal may come.
    previous = {number: signal.getsignal(number) for number in numbers}

    def handle(number, frame):
        request.signal_name = request.signal_name or signal.Signals(number).name
        signal.signal(signal.SIGINT, previous[signal.SIGINT])

    def acknowledge():
        is_told = False
        for (number,) in iter(lambda: os.read(readable, 1), b""):
            if number in previous and not is_told:
                is_told = True
                logging.warning(
                    "%s: finishing this step and saving; Ctrl-C stops without"
                    " saving",
                    signal.Signals(number).name,
                )
            elif number == signal.SIGINT and request.signal_name is None:
                logging.warning("stopped without saving")
                os._exit(3)

    for number in numbers:
        signal.signal(number, handle)
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    told = signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    thread = threading.Thread(target=acknowledge, daemon=True)
    thread.start()
    try:
        with errors.after_signal(lambda: request.signal_name):
            yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(told)
        os.close(writable)
        thread.join()
        os.close(readable)


def fit(
    learner,
    batches,
    *,
    workdir,
    num_steps,
    tokens_per_step,
    flops_per_token=0,
    intervals,
    periodic,
    strategy=strategy_lib.ONE_DEVICE,
    is_over=None,
):
    """Train up to step `num_steps`, from the last checkpoint if there is one.

    Args:
        learner: compiled `training.learner.Learner`.
        batches: function of the step (`data.batches`).
        tokens_per_step, flops_per_token: numbers, to log the speed.
        periodic: list of (every, function `(step, history)`); `every` is an
            interval in steps (0 for never) or the set of steps.
        strategy: `strategy.Strategy` in whose scope the learner was built.
        is_over: function `(history) -> bool`, whether to end training early, or
            None; called at the start and after each `periodic` function. It
            must depend on the lines of the history alone, so that a resumed
            run ends at the same step.

    Returns the `results.History`, still open for what the run measures at its
    end. Raises `Stopped` after a signal, once a checkpoint is saved, or if a
    worker is lost; `RunError` if a loss or gradient is NaN or infinite;
    InputError if there is a checkpoint, but no `metrics.jsonl`.
    """
    with strategy.scope():
        # On a CPU, training itself needs all cores and the memory.
        in_background = device.kind() != "cpu"
    checkpoints = checkpoints_lib.Checkpoints(
        workdir,
        keep=intervals.num_checkpoints,
        is_written=strategy.is_chief,
        in_background=in_background,
    )
    lines = workdir / results.METRICS
    if strategy.is_chief and checkpoints.steps() and not lines.exists():
        raise errors.InputError(
            f"{lines} is lost, with the evaluations by which weights are kept:"
            " restore it, or create an empty file to go on without them"
        )
    first_step = strategy.share_state(checkpoints.restore(learner), learner)
    history = results.History(workdir, step=first_step)
    if first_step:
        logging.info("resuming at step %d of %d", first_step, num_steps)
    if first_step >= num_steps or (is_over is not None and is_over(history)):
        return history

    # A run that is extended is no longer finished; if it is one of several
    # seeds, neither is the run of all seeds.
    above = workdir.parent
    is_seed = workdir.name.startswith("seed_")
    if is_seed and (results.read(above) or {}).get("seeds"):
        results.path(above).unlink()
    results.path(workdir).unlink(missing_ok=True)
    try:
        with (
            catch_signals() as stop,
            console.bar("steps", num_steps, done=first_step) as advance,
        ):
            # Compiling the first step can take a minute.
            advance(0, "preparing the first step")
            strategy.share_stop_request(stop, learner)
            peak = None  # known for a single device only
            if strategy.num_replicas == 1:
                peak = peak_lib.read(keras.config.dtype_policy().compute_dtype)
            metrics = callbacks.LogMetrics(
                step=first_step,
                history=history,
                every=intervals.log_steps,
                tokens_per_step=tokens_per_step,
                flops_per_token=flops_per_token,
                peak=peak,
                advance=advance,
            )
            after_step = callbacks.AfterStep(
                last_step=num_steps,
                metrics=metrics,
                periodic=periodic,
                is_over=is_over,
                checkpoints=checkpoints,
                intervals=intervals,
                stop=stop,
            )
            loaded = loaders.load(
                batches, first_step=first_step, num_steps=num_steps - first_step
            )
            called = [metrics, after_step]
            learner.fit(loaded, verbose=0, shuffle=False, callbacks=called)
            checkpoints.check()
        if stop:
            step = int(ops.convert_to_numpy(learner.optimizer.iterations))
            name = stop.signal_name or "a signal to another worker"
            raise errors.Stopped(
                f"stopped by {name} after step {step} of {num_steps}, saved "
                f"in {checkpoints.directory}; the same command resumes",
                stop.signal_name,
            )
    except BaseException:
        history.close()
        checkpoints.finish()
        raise
    return history
