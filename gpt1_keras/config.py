"""Gin files and settings -> one checked, finalized configuration.

Gin lets a misspelt macro pass and a missing value surface late. Here a
setting must be used, macros must be defined and the run's arguments given,
before anything starts.
"""

import contextlib
import dataclasses
import difflib
import hashlib
import inspect
import io
import pathlib
import re
import tokenize

import gin
from gin import config_parser

from gpt1_keras import errors

# -----------------------------------------------------------------------------
# Reads gin files and settings; every mistake is one line.

_PACKAGE = pathlib.Path(__file__).resolve().parent
# A wheel carries the gin files inside the package, a checkout beside it.
ROOT = _PACKAGE if (_PACKAGE / "gin").is_dir() else _PACKAGE.parent

_LOCATION = re.compile(
    r"\n  In (?:file \"(?P<file>.*)\",|bindings string) line (?P<line>\d+)"
    r"\n    (?P<statement>.*)"
)
# Text of every file read since `parse` began, by the name it was read under.
_texts = {}


def locate(name):
    """Return the path of file or folder `name`, or None if there is none.

    A relative name is looked for in the repository (or the installed package)
    and then in the current directory.
    """
    for directory in (ROOT, pathlib.Path.cwd()):
        path = directory / pathlib.Path(name).expanduser()
        if path.exists():
            return path
    return None


def parse(names, settings):
    """Clear gin's configuration, then parse files and settings in order.

    Args:
        names: list of str, gin files.
        settings: list of str, each "NAME = VALUE".

    Raises:
        InputError: a file is missing or unreadable, or gin cannot use it.
    """
    gin.clear_config()
    _texts.clear()
    for name in names:
        if not _is_file(name):
            raise errors.InputError(_not_found(name))
        with _our_reader(), _first_line_only():
            gin.parse_config_file(name)
    for setting in settings:
        label = f'--set "{setting}"'
        if not re.match(r"\s*[\w./]+\s*=", setting):
            raise errors.InputError(f'{label}: write --set "NAME = VALUE"')
        with _one_line(label):
            gin.parse_config(setting)


def place(pattern):
    """Return "file, line n: " where `pattern` stands, "" if nowhere.

    Args:
        pattern: regular expression; ^ matches at each line.
    """
    for name, text in _texts.items():
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            line = text.count("\n", 0, found.end()) + 1
            return f"{name}, line {line}: "
    return ""


def nearest(name, known):
    """Return the end of a message that says what was meant by `name`."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are {', '.join(known)}" if known else ""


def missing_module(error):
    """Return one line on what to install for ImportError `error`.

    None, if it is not a module of somebody else that is missing.
    """
    message = str(error).split("\n")[0]
    missing = re.search(r"No module named '(\w+)'", message)
    if missing is None:
        return None
    remedy = "pip install -r requirements.txt"
    if missing[1] in ("tensorflow", "jax", "torch"):
        remedy += ", or set KERAS_BACKEND to a backend that is installed"
    return f"{message}: {remedy}"


def _is_file(name):
    path = locate(name)
    return path is not None and path.is_file()


@contextlib.contextmanager
def _our_reader():
    """Let gin open files by `_open` alone.

    Gin has no public way to look in another place before the current
    directory; its list of readers is the one place that decides.
    """
    before = gin.config._FILE_READERS[:]
    gin.config._FILE_READERS[:] = [(_open, _is_file)]
    try:
        yield
    finally:
        gin.config._FILE_READERS[:] = before


@contextlib.contextmanager
def _open(name):
    """Open a gin file for gin; mistakes found in it become InputError."""
    try:
        _texts[name] = locate(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InputError(
            f"{name}: cannot be read as text: {error}"
        ) from None
    file = io.StringIO(_texts[name])
    file.name = name
    with _one_line(name):
        yield file


@contextlib.contextmanager
def _one_line(label):
    """Turn gin's complaints about `label` (file or setting) to InputError."""
    try:
        yield
    except errors.InputError:
        raise
    except SyntaxError as error:
        if str(error.filename).endswith(".py"):
            raise  # A module that a gin file imports.
        raise _syntax_error(label, error.msg, error.lineno) from None
    except tokenize.TokenError as error:
        reason, (line, _) = error.args
        raise _syntax_error(label, reason, line) from None
    except Exception as error:
        found = _LOCATION.search(str(error))
        statement = found["statement"] if found else ""
        message = str(error).split("\n")[0].rstrip(".")
        message = re.sub(r"<module '([\w.]+)'[^>]*>", r"module \1", message)
        if isinstance(error, ImportError):
            message = missing_module(error) or message
        elif statement.startswith(("import", "from")) or not found:
            raise  # A defect of the imported module: show its traceback.
        elif statement.startswith("include"):
            message = (
                f"{statement}: no such file in {ROOT} or the current directory"
            )
        if found and found["file"]:
            label = f"{label}, line {found['line']}"
        raise errors.InputError(f"{label}: {message}") from None


@contextlib.contextmanager
def _first_line_only():
    """Drop what gin appends to an InputError that passes through includes."""
    try:
        yield
    except errors.InputError as error:
        raise errors.InputError(str(error).split("\n")[0]) from None


def _syntax_error(label, reason, line):
    reason = " ".join(str(reason).split()).rstrip(".")
    # Python names an object in memory before it comes to the point.
    reason = re.sub(r"^malformed node.*(?=Failed)", "", reason)
    where = label if label.startswith("--set") else f"{label}, line {line}"
    return errors.InputError(
        f"{where}: {reason} (values are Python literals; text needs quotes,"
        " arithmetic is not understood)"
    )


def _not_found(name):
    known = sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "gin").rglob("*.gin")
    )
    return (
        f"--gin {name}: no such file in {ROOT} or the current directory"
        f"{nearest(name, known)}"
    )


# -----------------------------------------------------------------------------
# The bindings of a configuration as data: macros, hash and differences.

# What may change without changing data, model or recipe: `sha256` and
# `differences` see neither these macros, nor parameters of these names, nor
# anything bound to these functions. How the result is measured (the stride,
# the share of the held-out books) is not among them, as a finished run keeps
# its measurement.
NOT_RECIPE_MACROS = frozenset(
    {
        # Where the results go, and whether a finished run goes on.
        "WORKDIR",
        "EXTEND",
        # The device: replicas, how much at once, how it is compiled.
        "STRATEGY",
        "NUM_REPLICAS",
        "TPU",
        "MICROBATCH_SIZE",
        "EVALUATION_BATCH_SIZE",
        "SOFTMAX_CHUNK",
        "JIT_COMPILE",
        "BUCKET_LENGTHS",
        # Looking at the run.
        "LOG_STEPS",
        "EVALUATION_STEPS",
        "EVALUATION_TOKENS",
        "NUM_SCORED_TRAIN_EXAMPLES",
        "SAMPLE_STEPS",
        "SAMPLE_PROMPT",
        "PROBES",
        "FIRST_PROBE_STEP",
        "NUM_PROBE_EXAMPLES",
        "CHECKPOINT_STEPS",
        "NUM_CHECKPOINTS",
    }
)
# Macros of which only counts whether they are given: where the official files
# lie does not matter, but without a folder generated ones are taken.
PATH_MACROS = frozenset({"DATA_DIR"})
NOT_RECIPE_PARAMETERS = frozenset(
    {"workdir", "devices", "microbatch_size", "softmax_chunk"}
    | {"jit_compile", "log_steps", "paper", "bucket_lengths", "first_step"}
)
NOT_RECIPE_FUNCTIONS = frozenset({"Intervals", "Sampling", "Devices", "report"})

# Runs that keep everything they made before beside the new: any configuration
# of such a run may follow another in one workdir.
VERSIONED_RUNS = frozenset({"export.export"})

# Macros that may grow in a workdir when EXTEND is True.
EXTENDABLE = ("NUM_STEPS", "NUM_EPOCHS")


@dataclasses.dataclass(frozen=True)
class Macro:
    """A use of a macro, `%NAME`."""

    name: str

    def __repr__(self):
        return f"%{self.name}"


@dataclasses.dataclass(frozen=True)
class Reference:
    """A reference to a function, `@name` or `@name()`."""

    name: str
    evaluate: bool

    def __repr__(self):
        return f"@{self.name}{'()' if self.evaluate else ''}"


REQUIRED = Macro("gin.REQUIRED")


@dataclasses.dataclass(frozen=True)
class Bindings:
    """All bindings of one configuration.

    Attributes:
        macros: dict from the name of a macro to its value.
        parameters: dict from "scope/function.parameter" to its value.
            Values are Python literals in which a macro or a function stands
            as `Macro` or `Reference`.
    """

    macros: dict
    parameters: dict

    def all_values(self):
        """Return (name, value) of every macro and parameter, sorted."""
        return sorted((self.macros | self.parameters).items(), key=_first)

    def used_macros(self, *more):
        """Names of the macros that parameters use, directly or not.

        `more` names macros that count as used whatever the parameters say.
        """
        used = set(more)
        for value in self.parameters.values():
            used |= self.macros_in(value)
        for name in more:
            used |= self.macros_in(self.macros.get(name))
        return used

    def macros_in(self, value, above=()):
        """Names of the macros in `value`, and in their values in turn."""
        names = set()
        for name in _macro_names(value):
            if name in above:
                raise errors.InputError(
                    f"macro {name} is defined by itself: give it a value"
                )
            below = (*above, name)
            names |= {name} | self.macros_in(self.macros.get(name), below)
        return names

    def recipe(self):
        """Return {parameter: text of its value} that the hash covers.

        Macros are replaced by their values, except those that do not belong
        to the recipe.
        """
        return {
            name: self._canonical(value)
            for name, value in sorted(self.parameters.items())
            if _is_recipe(name)
        } | {"RUN": self._canonical(self.macros.get("RUN"))}

    def sha256(self):
        """Return the hex hash of what changes data, model or recipe."""
        lines = [f"{name} = {text}" for name, text in self.recipe().items()]
        return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()

    def is_version_of(self, other):
        """Whether both are configurations of one run that has versions."""
        run = self.macros.get("RUN")
        return (
            isinstance(run, Reference)
            and run.name in VERSIONED_RUNS
            and run == other.macros.get("RUN")
        )

    def _canonical(self, value):
        if isinstance(value, Macro):
            if value.name in NOT_RECIPE_MACROS or value == REQUIRED:
                return repr(value)
            bound = self.macros.get(value.name)
            if value.name in PATH_MACROS and isinstance(bound, str):
                return "a path"
            return self._canonical(bound)
        if isinstance(value, dict):
            items = sorted(
                (self._canonical(key), self._canonical(item))
                for key, item in value.items()
            )
            return "{" + ", ".join(f"{k}: {v}" for k, v in items) + "}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self._canonical, value))}]"
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 1e3 and 1000 are the same number of steps.
        return repr(value)


def read_bindings(text):
    """Read gin `text` such as `gin.config_str()` writes.

    Raises:
        SyntaxError: `text` is not gin.
    """
    macros, parameters = {}, {}
    for statement in config_parser.ConfigParser(text, _Symbols()):
        if not isinstance(statement, config_parser.BindingStatement):
            continue
        scope, selector, parameter, value, _ = statement
        name = f"{scope}/{selector}" if scope else selector
        if parameter:
            parameters[f"{name}.{parameter}"] = value
        else:
            macros[name] = value
    return Bindings(macros, parameters)


def differences(old, new):
    """Return [(name, old value, new value)] of what the hash covers.

    A macro is named where it explains the difference, the parameter where
    none does. None stands for a value that one side does not have.
    """
    found = {}
    before, after = old.recipe(), new.recipe()
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        pair = [side.parameters.get(name) for side in (old, new)]
        macros = (
            old.macros_in(pair[0]) | new.macros_in(pair[1]) | ({"RUN"} & {name})
        )
        explained = {
            macro: (old.macros.get(macro), new.macros.get(macro))
            for macro in sorted(macros - NOT_RECIPE_MACROS)
            if old.macros.get(macro) != new.macros.get(macro)
        }
        found |= explained or {name: tuple(pair)}
    return [(name, *pair) for name, pair in found.items()]


class _Symbols(config_parser.ParserDelegate):
    """Keeps macros and references as symbols instead of looking them up."""

    def configurable_reference(self, scoped_configurable_name, evaluate):
        return Reference(scoped_configurable_name, evaluate)

    def macro(self, macro_name):
        return Macro(macro_name)


def _is_recipe(name):
    """Whether the hash covers a parameter "scope/module.function.name"."""
    function, _, parameter = name.rpartition("/")[2].rpartition(".")
    return (
        parameter not in NOT_RECIPE_PARAMETERS
        and function.rpartition(".")[2] not in NOT_RECIPE_FUNCTIONS
    )


def _macro_names(value):
    if isinstance(value, Macro):
        return set() if value == REQUIRED else {value.name}
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return set().union(*map(_macro_names, value))
    return set()


def _first(pair):
    return pair[0]


# -----------------------------------------------------------------------------
# Gin files and settings -> one checked, finalized configuration.

# Macros that `gpt1_keras.main` reads itself, so no binding need use them.
_READ_BY_MAIN = ("RUN", "WORKDIR", "EXTEND")


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What gin was told, after all files and settings.

    Attributes:
        text: str. All bindings in gin syntax; parsing it gives the same
            configuration again.
        bindings: `config.Bindings` read from `text`.
        sha256: str. Hex hash of what changes data, model or recipe.
        run: gin's reference to the function named by RUN.
    """

    text: str
    bindings: Bindings
    sha256: str
    run: gin.config.ConfigurableReference

    def function(self):
        """Return the run, with everything gin binds to it."""
        return self.run.scoped_configurable_fn


def resolve(names, settings, workdir=None):
    """Parse, check and finalize gin's global configuration.

    Args:
        names: list of str, gin files. Later files override earlier ones.
        settings: list of str, each "NAME = VALUE". They override the files.
        workdir: str or None. Becomes the macro WORKDIR where given.

    Returns:
        The `Configuration`; gin is locked afterwards.

    Raises:
        InputError: whatever is wrong with the files or the settings.
    """
    if not names:
        raise errors.InputError(
            "no --gin FILE given: name a run, such as --gin gin/pretrain.gin"
        )
    parse(names, settings)
    if workdir is not None:
        gin.bind_parameter("WORKDIR/gin.macro.value", workdir)

    text = gin.config_str()
    resolved = read_bindings(text)
    _check_settings(settings, resolved)
    _check_macros(resolved)
    run = _run_reference(resolved)
    gin.finalize()
    return Configuration(text, resolved, resolved.sha256(), run)


def check_arguments(configuration, given):
    """Complain of required arguments of the run that nothing gives.

    Args:
        configuration: a `Configuration`.
        given: names that the caller passes itself.

    Raises:
        InputError: names the first argument without a value.
    """
    run = configuration.run
    with gin.config_scope(run.scopes or None):
        bound = gin.get_bindings(
            run.configurable.wrapped, resolve_references=False
        )
    parameters = inspect.signature(configuration.function()).parameters
    for name, parameter in parameters.items():
        is_required = (
            parameter.default is inspect.Parameter.empty
            and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        )
        if is_required and name not in bound and name not in given:
            raise errors.InputError(
                f"RUN = {run!r} needs {name}, which nothing binds: add"
                f' --set "{run.selector}.{name} = VALUE"'
            )


def _check_settings(settings, resolved):
    used = resolved.used_macros(*_READ_BY_MAIN)
    for setting in settings:
        name = setting.split("=")[0].strip()
        if "." not in name and name not in used:
            raise errors.InputError(
                f'--set "{setting}": nothing uses a macro {name}'
                f"{nearest(name, sorted(used))}"
            )


def _check_macros(resolved):
    for name in sorted(resolved.used_macros() - resolved.macros.keys()):
        where = place("%" + re.escape(name) + r"\b")
        raise errors.InputError(
            f"{where}macro {name} is not defined: {_how_to_give(name)}"
        )
    for name, value in resolved.all_values():
        if value == REQUIRED:
            last = re.escape(name.split(".")[-1])
            where = place(r"^\s*(\S*\.)?" + last + r"\s*=")
            raise errors.InputError(
                f"{where}{name} must be given: {_how_to_give(name)}"
            )


def _how_to_give(name):
    if name == "WORKDIR":
        return "add --workdir DIR"
    return f'add --set "{name} = VALUE"'


def _run_reference(resolved):
    if "RUN" not in resolved.macros:
        raise errors.InputError(
            "the gin files name no RUN: the first --gin must be that of a run,"
            " such as gin/pretrain.gin"
        )
    run = gin.query_parameter("%RUN")
    is_reference = isinstance(run, gin.config.ConfigurableReference)
    if not is_reference or run.evaluate:
        raise errors.InputError(
            f"{place('^RUN ')}RUN = {run!r} is not a function:"
            " write RUN = @module.function"
        )
    return run
