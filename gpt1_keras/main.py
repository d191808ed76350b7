"""Run what gin files describe.

python -m gpt1_keras.main --gin FILE [--gin FILE ...]
                          [--set "NAME = VALUE" ...] [--workdir DIR]
python -m gpt1_keras.main --list [--gin FILE ...]

  --gin FILE            a gin file; later files override earlier ones
  --set "NAME = VALUE"  one setting; overrides all files
  --workdir DIR         folder for everything that the run writes
  --list                list the runs; with --gin FILE, the settings of that run
  --allow_module NAME   let the gin files use a Python module besides the
                        public names of gpt1_keras; its code is executed

Files are looked for in the repository, then in the current directory.
Exit status: 0 done; 2 wrong arguments, gin or input (one line says what and
where); 3 stopped by a signal or a lost worker (repeat it); 1 anything else.
"""

import contextlib
import importlib
import io
import logging as std_logging
import os
import re
import shlex
import signal
import sys
import threading
import warnings

if not __package__:  # as with `python gpt1_keras/main.py`
    sys.path[0] = os.path.dirname(sys.path[0])

from gpt1_keras import errors  # noqa: E402


def main(arguments=None):
    """Run the command line, or a list of arguments; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed, as with `<&-`
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):  # not so in notebooks
        # A terminal that cannot encode a character shows its escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
        if backend not in ("tensorflow", "jax", "torch"):
            raise errors.InputError(
                f"KERAS_BACKEND={backend}: must be tensorflow, jax or torch"
            )
        _check_directory()
        flags = _parse_flags(arguments)
        if flags["help"]:
            print((__doc__ or "") + _runs())  # None with `python -OO`
        elif flags["list"]:
            print(_settings(flags) if flags["gin"] else _runs())
        else:
            os.environ["MPLBACKEND"] = "agg"  # Plots only go to files.
            _keep_compiled()
            if {"JAX_PLATFORMS", "KERAS_TORCH_DEVICE"} & os.environ.keys():
                from gpt1_keras import device

                device.check()
            words = ["python", "-m", "gpt1_keras.main", *arguments]
            command = " ".join(map(_quoted, words))
            given = map(flags.get, ("gin", "set", "workdir", "allow_module"))
            # A library's own business, even where warnings are errors.
            mute = warnings.catch_warnings(
                action="ignore", category=DeprecationWarning
            )
            with _interruptible(), mute:
                run(*given, command=command)
        return 0
    except (Exception, KeyboardInterrupt) as error:
        return errors.report(error)


def _check_directory():
    try:
        os.getcwd()
    except FileNotFoundError:
        raise errors.InputError(
            "the current directory has been removed: cd to another one"
        ) from None


def _quoted(word):
    """Return a word as a shell takes it, a setting as README.md writes it."""
    is_setting = " " in word and not re.search(r'["$`\\!\n]', word)
    return f'"{word}"' if is_setting else shlex.quote(word)


@contextlib.contextmanager
def _interruptible():
    """Let SIGTERM and SIGHUP act as Ctrl-C where `fit` does not catch them."""

    def interrupt(number, frame):
        received.append(signal.Signals(number).name)
        raise KeyboardInterrupt(received[0])

    def again(unraisable):
        """Send the signal again if it was lost in a garbage collection."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            number = signal.Signals[str(unraisable.exc_value) or "SIGINT"]
            threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
        else:
            hook(unraisable)

    hook, received = sys.unraisablehook, []
    with contextlib.ExitStack() as former:
        former.callback(setattr, sys, "unraisablehook", hook)
        sys.unraisablehook = again
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                if handler != signal.SIG_IGN:  # as under nohup
                    former.callback(signal.signal, number, handler)
                    signal.signal(number, interrupt)
        with errors.after_signal(lambda: next(iter(received), None)):
            yield


def _parse_flags(arguments):
    """Return {flag: value}; any mistake in the arguments is an InputError."""
    from absl import flags

    values = flags.FlagValues()
    options = {"help": "see above", "flag_values": values}
    for name in ("gin", "set", "allow_module"):
        flags.DEFINE_multi_string(name, [], **options)
    flags.DEFINE_string("workdir", None, **options)
    flags.DEFINE_boolean("help", False, short_name="h", **options)
    flags.DEFINE_boolean("list", False, **options)
    try:
        rest = values(["main", *arguments])[1:]
    except flags.Error as error:
        raise errors.InputError(f"{error} (see --help)") from None
    if rest:
        raise errors.InputError(
            f"unexpected argument {rest[0]!r}: gin files need --gin, settings"
            ' need --set "NAME = VALUE"'
        )
    return values.flag_values_dict()


def _runs():
    """Return a line for each gin file that names a run."""
    from gpt1_keras import bindings

    lines, folders = ["", "Runs:"], {}
    for path in sorted((bindings.ROOT / "gin").rglob("*.gin")):
        name = path.relative_to(bindings.ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if f"# Run:       python -m gpt1_keras.main --gin {name}" not in text:
            continue
        if path.parent.name == "gin":
            lines.append(f"  {name:<26}{text.splitlines()[0][2:]}")
        else:
            folders.setdefault(path.parent.name, []).append(path.stem)
    for folder, names in folders.items():
        listed = ", ".join(names)
        lines.append(f"  gin/{folder}/NAME.gin with NAME one of {listed}")
    return "\n".join(lines)


def _settings(flags):
    """Return a line for each setting of a run: value and comment."""
    from gpt1_keras import bindings
    from gpt1_keras import config

    found = bindings.read(flags["gin"], flags["set"], flags["allow_module"])
    config.check_run(found)
    found = found.without_unused()
    lines = []
    for name in (*sorted(found.used_macros()), *sorted(found.parameters)):
        value = found.bound.get(name)
        shown = f"{name} = {errors.shortened(repr(value))}"
        if value == bindings.REQUIRED:
            shown = f"{name} must be given"
        elif isinstance(value, bindings.Macro) or bindings.references(value):
            continue
        lines.append(f"{shown:<48} {found.comment(name)}".rstrip())
    return "\n".join(lines)


def run(
    names, settings=(), workdir=None, allowed=(), *, command="", verbose=True
):
    """Call the run that gin files describe and return what it returns.

    `names` to `allowed` are those of `config.resolve`; `command` is recorded in
    the workdir. Without `verbose`, only warnings are logged. InputError and
    RunError name parameters as gin files set them.
    """
    from gpt1_keras import config

    _import(allowed)
    bindings = config.resolve(names, settings, workdir, allowed)
    try:
        return _start(bindings, command, verbose)
    except (errors.InputError, errors.RunError) as error:
        # Code names parameters, users macros. Gin raises a class of its own.
        is_input = isinstance(error, errors.InputError)
        kind = errors.InputError if is_input else errors.RunError
        first = str(error).split("\n")[0]
        raise kind(config.name_dials(bindings, first)) from None


def _import(modules):
    """Import modules, which may be in the current directory.

    So Keras knows their classes, which a preset may name.
    """
    if modules and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # as the command `gpt1-keras` does not
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise errors.InputError(
                f"--allow_module {module}: {error}: run the command in the"
                " folder of the module, or install what is missing"
            ) from None


def _start(bindings, command, verbose):
    import gin

    from gpt1_keras import console
    from gpt1_keras import files
    from gpt1_keras import workdir as workdirs

    function = gin.query_parameter("%RUN").scoped_configurable_fn
    parameters = bindings.signature(bindings.run.function)
    directory = _workdir(bindings, parameters)
    is_writer = workdirs.is_written_by(bindings, os.environ.get("TF_CONFIG"))
    values = {
        "workdir": directory,
        "config_sha256": workdirs.sha256(directory, bindings),
        "is_writer": is_writer,
    }
    values = {k: v for k, v in values.items() if k in parameters}
    std_logging.getLogger("tensorflow").addFilter(console.is_of_interest)
    if verbose:
        _set_up_logging()
    if directory is None or not is_writer:
        if directory is not None:
            workdirs.check(directory, bindings)
        return function(**values)
    with files.exclusive(files.make_folder(directory)):
        before = workdirs.claim(directory, bindings, command)
        try:
            found = function(**values)
            workdirs.check_in_place(directory)
            return found
        except BaseException:
            # So that the corrected command can use the workdir.
            workdirs.release(directory, before)
            raise


def _keep_compiled():
    """Let XLA find on disk what it compiled for an earlier run or seed.

    Call it before jax or tensorflow is imported. With TensorFlow only on GPUs:
    on a CPU, it would save a second and warn about every program it finds.
    """
    from gpt1_keras import files

    root = files.cache_root()
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(root / "jax"))
    os.environ.setdefault(
        "TF_XLA_FLAGS",
        f"--tf_xla_persistent_cache_directory={root / 'tensorflow'} "
        "--tf_xla_persistent_cache_device_types=GPU",
    )
    # Hides "Unable to initialize backend 'tpu'", which tells a user nothing.
    std_logging.getLogger("jax._src.xla_bridge").setLevel(std_logging.WARNING)


def _set_up_logging():
    from absl import flags
    from absl import logging

    from gpt1_keras import console

    flags.FLAGS(["gpt1_keras.main"])  # absl's logging waits for its flags.
    logging.use_absl_handler()
    handler = logging.get_absl_handler()
    line = std_logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S")
    handler.setFormatter(line)
    handler.addFilter(console.is_of_interest)
    logging.set_verbosity(logging.INFO)


def _workdir(bindings, parameters):
    """Return the path of the workdir, None if the run writes no files."""
    from gpt1_keras import files

    directory = bindings.macros.get("WORKDIR")
    if "workdir" not in parameters and directory:
        raise errors.InputError("this run writes no files: leave --workdir out")
    if isinstance(directory, str):
        return files.user_path("--workdir", directory)
    if "workdir" in parameters and parameters["workdir"].default is not None:
        raise errors.InputError("this run writes files: add --workdir DIR")
    return None


if __name__ == "__main__":
    sys.exit(main())
