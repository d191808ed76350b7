"""Gin files and settings -> one checked, finalized configuration.

Gin lets a misspelt macro pass and a missing value surface late. Here a
setting must be used, macros must be defined, values must be of the declared
kind and the run's arguments given, before anything starts.
"""

import dataclasses
import difflib
import hashlib
import importlib
import inspect
import math
import pathlib
import pprint
import re
import tokenize

import gin
from gin import config_parser

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import public_names

# -----------------------------------------------------------------------------
# Reads gin files and settings into `Bindings`; every mistake is one line.

_PACKAGE = pathlib.Path(__file__).resolve().parent
# A wheel carries the gin files inside the package, a checkout beside it.
ROOT = _PACKAGE if (_PACKAGE / "gin").is_dir() else _PACKAGE.parent


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


def read(names, settings):
    """Return the `Bindings` of files and settings; later ones override.

    Args:
        names: list of str, gin files.
        settings: list of str, each "NAME = VALUE".

    Raises:
        InputError: a file is missing or unreadable, or not gin.
    """
    reader = _Reader()
    for name in names:
        if not _is_file(name):
            raise errors.InputError(_not_found(name))
        reader.read_file(name)
    for setting in settings:
        label = f'--set "{setting}"'
        if not re.match(r"\s*[\w./]+\s*=", setting):
            raise errors.InputError(f'{label}: write --set "NAME = VALUE"')
        reader.read_text(setting, label, is_setting=True)
    return reader.bindings()


class _Reader:
    """Collects the statements of files and settings in their order."""

    def __init__(self):
        self._statements = []
        self._imports = {}
        self._places = {}
        self._open = ()

    def bindings(self):
        """Return all that was read as `Bindings`, in today's names."""
        return collect(self._statements, self._imports, self._places)

    def read_file(self, name):
        """Read a file that `locate` finds, and what it includes."""
        if name in self._open:
            cycle = " -> ".join((*self._open, name))
            raise errors.InputError(f"{name}: includes itself: {cycle}")
        try:
            text = locate(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise errors.InputError(
                f"{name}: cannot be read as text: {error}"
            ) from None
        self._open += (name,)
        self.read_text(text, name)
        self._open = self._open[:-1]

    def read_text(self, text, label, is_setting=False):
        """Read gin text; `label` names it in messages."""
        try:
            for statement in statements(text):
                place = label
                if not is_setting:
                    place = f"{label}, line {statement.location.line_num}"
                self._take(statement, place)
        except SyntaxError as error:
            raise _syntax_error(label, error.msg, error.lineno) from None
        except tokenize.TokenError as error:
            reason, (line, _) = error.args
            raise _syntax_error(label, reason, line) from None

    def _take(self, statement, place):
        if isinstance(statement, config_parser.IncludeStatement):
            if not _is_file(statement.filename):
                raise errors.InputError(
                    f"{place}: include {statement.filename!r}: no such file in"
                    f" {ROOT} or the current directory"
                )
            self.read_file(statement.filename)
        elif isinstance(statement, config_parser.ImportStatement):
            take_import(statement, self._imports)
            self._places.setdefault(statement.format(), place)
        elif isinstance(statement, config_parser.BindingStatement):
            if not _is_finite(statement.value):
                raise errors.InputError(
                    f"{place}: a number is too large for a float"
                )
            self._statements.append(statement)
            self._places[name_of(statement)] = place


def _is_finite(value):
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return True


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
# The bindings of a configuration as data: names, identity and differences.

# Runs that keep every version they make: any configuration of such a run may
# follow another in one workdir.
VERSIONED_RUNS = frozenset({"export.export"})

# Parameters that may grow in a workdir when EXTEND is True.
EXTENDABLE = ("num_steps", "num_epochs")

# Arguments that main passes to a run; they say nothing of the recipe.
_FROM_MAIN = ("workdir", "config_sha256")

_RULE = "# " + "=" * 78


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

    @property
    def function(self):
        """The function's name without a scope."""
        return self.name.rpartition("/")[2]


REQUIRED = Macro("gin.REQUIRED")


@dataclasses.dataclass(frozen=True)
class Bindings:
    """All bindings of one configuration.

    Attributes:
        macros: dict from the name of a macro to its value.
        parameters: dict from "scope/function.parameter" to its value.
            Values are Python literals in which a macro or a function stands
            as `Macro` or `Reference`.
        imports: dict from a name in the text to the module it stands for;
            only needed for functions that are not in `public_names`.
        places: dict from the name of a macro or a parameter to where it was
            bound, such as "gin/pretrain.gin, line 3".
    """

    macros: dict
    parameters: dict
    imports: dict = dataclasses.field(default_factory=dict, compare=False)
    places: dict = dataclasses.field(default_factory=dict, compare=False)

    @property
    def run(self):
        """The `Reference` bound to RUN, or None."""
        run = self.macros.get("RUN")
        return run if isinstance(run, Reference) else None

    def find(self, function):
        """Return the function or class of a name, None if there is none.

        Raises:
            ImportError: a module that it needs is missing.
        """
        function = function.rpartition("/")[2]
        if function in public_names.PUBLIC:
            return public_names.find(function)
        path = function.split(".")
        for i in range(len(path) - 1, 0, -1):
            module = self.imports.get(".".join(path[:i]))
            if module is not None:
                found = importlib.import_module(module)
                for name in path[i:]:
                    found = getattr(found, name, None)
                return found
        return None

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

    def value(self, value):
        """Return `value` with every macro replaced by its value."""
        if isinstance(value, Macro) and value.name in self.macros:
            return self.value(self.macros[value.name])
        if isinstance(value, dict):
            return {self.value(k): self.value(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.value, value))
        return value

    def values_of(self, name):
        """Return the values bound to a parameter, in any scope."""
        return [
            self.value(value)
            for full, value in self.parameters.items()
            if full.rpartition("/")[2] == name
        ]

    def dial(self, name):
        """Return the value of a macro, or of the parameter it stood for."""
        if name in self.macros:
            return self.value(self.macros[name])
        former = public_names.FORMER_DIALS.get(name, ())
        for parameter in former if isinstance(former, tuple) else ():
            if parameter in self.parameters:
                return self.value(self.parameters[parameter])
        return None

    def reached(self, is_followed=None):
        """Return the names of all functions that the run refers to.

        Args:
            is_followed: function of (name, value) of a parameter that says
                whether its references count; None follows all.
        """
        found, waiting = set(), [] if self.run is None else [self.run]
        while waiting:
            function = waiting.pop().function
            if function in found:
                continue
            found.add(function)
            for name, value in self.parameters_of(function).items():
                if is_followed is None or is_followed(name, value):
                    waiting += references(self.value(value))
        return found

    def parameters_of(self, function):
        """Return the parameters bound to a function, in any scope."""
        return {
            name: value
            for name, value in self.parameters.items()
            if function_of(name) == function
        }

    def without_unused(self, *kept):
        """Return these bindings without what the run never refers to.

        So an overlay may bind parameters of several runs. `kept` names macros
        that stay in any case.
        """
        reached = self.reached()
        parameters = {
            name: value
            for name, value in self.parameters.items()
            if function_of(name) in reached
        }
        small = dataclasses.replace(self, parameters=parameters)
        used = small.used_macros(*kept)
        macros = {k: v for k, v in self.macros.items() if k in used}
        return dataclasses.replace(small, macros=macros)

    def recipe(self):
        """Return {parameter: text of its value} of what makes the run.

        Left out is what its annotation marks as no part of the recipe, all
        that is referred to only there, and what equals the default. Macros
        are replaced by their values.
        """
        marks = _Marks(self)
        names = set(self.parameters)
        if self.run is not None:
            reached = self.reached(lambda name, _: marks.is_recipe(name))
            names = {n for n in names if function_of(n) in reached}
        found = {}
        for name in sorted(names):
            if marks.is_recipe(name):
                text = marks.canonical(name, self.parameters[name])
                if text is not None:
                    found[name] = text
        return found | {"RUN": _canonical(self.macros.get("RUN"))}

    def sha256(self):
        """Return the hex hash of what changes data, model or recipe."""
        lines = [f"{name} = {text}" for name, text in self.recipe().items()]
        return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()

    def is_version_of(self, other):
        """Whether both are configurations of one run that has versions."""
        return (
            self.run is not None
            and self.run.name in VERSIONED_RUNS
            and self.run == other.run
        )

    def text(self, with_imports=True):
        """Return these bindings in gin syntax; `read` gives them back."""
        lines = []
        aliases = self._used_imports()
        if with_imports and aliases:
            lines += ["from __gin__ import dynamic_registration"]
            lines += [_import_line(k, self.imports[k]) for k in aliases] + [""]
        lines += ["# Macros:", _RULE]
        lines += [_line(*item) for item in sorted(self.macros.items())]
        function = None
        for name, value in sorted(self.parameters.items()):
            if name.rpartition(".")[0] != function:
                function = name.rpartition(".")[0]
                lines += ["", f"# Parameters for {function}:", _RULE]
            lines.append(_line(name, value))
        return "\n".join(lines) + "\n"

    def _used_imports(self):
        functions = {function_of(name) for name in self.parameters}
        for value in [*self.macros.values(), *self.parameters.values()]:
            functions |= {r.function for r in references(value)}
        return sorted(
            alias
            for alias in self.imports
            if any(
                function.startswith(alias + ".")
                for function in functions - public_names.PUBLIC.keys()
            )
        )


class _Marks:
    """What the annotations of the bound functions say of parameters."""

    def __init__(self, bindings):
        self._bindings = bindings
        self._found = {}

    def is_recipe(self, name):
        if name.rpartition(".")[2] in _FROM_MAIN:
            return False
        parameter = self._parameter(name)
        return parameter is None or checks.is_recipe(parameter.annotation)

    def canonical(self, name, value):
        """Return the text that stands for a value, None of the default."""
        value = self._bindings.value(value)
        parameter = self._parameter(name)
        text = _canonical(value)
        if parameter is None:
            return text
        if text == _canonical(parameter.default):
            return None
        if checks.is_location(parameter.annotation) and isinstance(value, str):
            return "a path"
        return text

    def _parameter(self, name):
        """Return the `inspect.Parameter` of a bound name, None if unknown."""
        function = function_of(name)
        if function not in self._found:
            try:
                found = self._bindings.find(function)
                self._found[function] = public_names.parameters(found)
            except (ImportError, TypeError):
                self._found[function] = {}
        return self._found[function].get(name.rpartition(".")[2])


def read_bindings(text):
    """Read gin `text` such as a `config.gin`.

    Raises:
        SyntaxError: `text` is not gin.
    """
    found, imports = [], {}
    for statement in statements(text):
        if isinstance(statement, config_parser.ImportStatement):
            take_import(statement, imports)
        elif isinstance(statement, config_parser.BindingStatement):
            found.append(statement)
    return collect(found, imports)


def statements(text):
    """Return gin's statements; macros and references stay symbols.

    Raises:
        SyntaxError: `text` is not gin.
    """
    return config_parser.ConfigParser(text, _Symbols())


def collect(found, imports, places=None):
    """Return the `Bindings` of gin statements; later ones override."""
    macros, parameters = {}, {}
    for statement in found:
        into = parameters if statement.arg_name else macros
        name = name_of(statement)
        into.pop(name, None)
        into[name] = statement.value
    functions = {function_of(name) for name in parameters}
    for name, function in public_names.ADDED.items():
        if name.rpartition(".")[0] in functions:
            parameters.setdefault(name, Reference(function, True))
    return Bindings(macros, parameters, imports, places or {})


def name_of(statement):
    """Return the name that a gin binding binds, in today's names."""
    scope, selector, parameter, _, _ = statement
    name = f"{scope}/{selector}" if scope else selector
    return public_names.current(f"{name}.{parameter}") if parameter else name


def take_import(statement, imports):
    """Note in `imports` the module that a gin import gives a name to."""
    name = statement.alias or statement.module.rpartition(".")[2]
    if not statement.is_from and not statement.alias:
        name = statement.module
    if not statement.module.startswith("__gin__"):
        imports[name] = statement.module


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
        if name == "RUN":
            pair = [old.macros.get(name), new.macros.get(name)]
        macros = [old.macros_in(pair[0]), new.macros_in(pair[1])]
        explained = {}
        if None in pair or macros[0] == macros[1]:
            explained = {
                macro: (old.macros.get(macro), new.macros.get(macro))
                for macro in sorted(macros[0] | macros[1])
                if old.macros.get(macro) != new.macros.get(macro)
            }
        values = old.value(pair[0]), new.value(pair[1])
        found |= explained or {name: values}
    return [(name, *pair) for name, pair in found.items()]


class _Symbols(config_parser.ParserDelegate):
    """Keeps macros and references as symbols instead of looking them up."""

    def configurable_reference(self, scoped_configurable_name, evaluate):
        name = public_names.current(scoped_configurable_name)
        return Reference(name, evaluate)

    def macro(self, macro_name):
        return Macro(macro_name)


def function_of(name):
    """Return the function of a parameter "scope/module.function.name"."""
    return name.rpartition("/")[2].rpartition(".")[0]


def _canonical(value):
    """Return a text that is equal for values of equal meaning."""
    if isinstance(value, dict):
        items = sorted(
            (_canonical(key), _canonical(item)) for key, item in value.items()
        )
        return "{" + ", ".join(f"{k}: {v}" for k, v in items) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_canonical, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e3 and 1000 are the same number of steps.
    return repr(value)


def references(value):
    """Return the `Reference`s in a value."""
    if isinstance(value, Reference):
        return [value]
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [r for item in value for r in references(item)]
    return []


def _macro_names(value):
    if isinstance(value, Macro):
        return set() if value == REQUIRED else {value.name}
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return set().union(*map(_macro_names, value))
    return set()


def _line(name, value):
    text = repr(value)
    if len(name) + len(text) > 76 and isinstance(value, dict | list | tuple):
        folded = pprint.pformat(value, width=76, sort_dicts=False)
        if _reads_as(folded, value):
            text = folded.replace("\n", "\n    ")
    return f"{name} = {text}"


def _reads_as(text, value):
    try:
        return read_bindings(f"A = {text}\n").macros["A"] == value
    except SyntaxError:
        return False


def _import_line(name, module):
    package, _, last = module.rpartition(".")
    if name == module:
        return f"import {module}"
    if not package:
        return f"import {module} as {name}"
    return f"from {package} import {last}" + (
        "" if last == name else f" as {name}"
    )


# -----------------------------------------------------------------------------
# Gin files and settings -> one checked, finalized configuration.

# Macros that `gpt1_keras.main` reads itself, so no binding need use them.
_READ_BY_MAIN = ("RUN", "WORKDIR", "EXTEND")


@dataclasses.dataclass(frozen=True)
class Configuration:
    """All bindings in force, after all files and settings.

    Attributes:
        bindings: `config.Bindings` of the run and all it refers to.
        sha256: str. Hex hash of what changes data, model or recipe.
    """

    bindings: Bindings
    sha256: str

    @property
    def text(self):
        """All bindings in gin syntax; resolving it gives the same again."""
        return self.bindings.text()

    def function(self):
        """Return the run, with everything gin binds to it."""
        return gin.query_parameter("%RUN").scoped_configurable_fn

    def name_dials(self, message):
        """Return a message with the dials of the parameters it names.

        Code names a parameter as `name` or `Class.name`, in backticks, and
        knows nothing of macros. Where a macro is bound to it, the macro
        replaces it, otherwise the full name for --set does.
        """
        return re.sub(
            r"`([\w.]+)`", lambda found: self._dial(found[1]), message
        )

    def _dial(self, name):
        """Return how a person gives a parameter a value."""
        found = [
            full
            for full in self.bindings.parameters
            if f".{full}".endswith(f".{name}")
        ]
        labels = sorted({_label(self.bindings, full) for full in found})
        last = name.rpartition(".")[2]
        if last.upper() in labels:
            return last.upper()
        if labels:
            return labels[0]
        for function in sorted(self.bindings.reached()):
            if last in _parameters(self.bindings, function) and (
                f".{function}.{last}".endswith(f".{name}")
            ):
                return f"{function}.{last}"
        return name


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
    found = read(names, settings)
    if workdir is not None:
        found.macros["WORKDIR"] = workdir
    _check_run(found)
    _check_functions(found)
    used = found.without_unused(*_READ_BY_MAIN)
    _check_settings(settings, used)
    _check_macros(used)
    _check_parameters(used)
    _hand_to_gin(used)
    return Configuration(used, used.sha256())


def check_arguments(configuration, given):
    """Complain of required arguments that nothing gives.

    Args:
        configuration: a `Configuration`.
        given: names that the caller passes to the run itself.

    Raises:
        InputError: names the first argument without a value.
    """
    run = configuration.bindings.run
    bound = {
        name.rpartition(".")[2]
        for name in configuration.bindings.parameters_of(run.function)
    }
    parameters = inspect.signature(configuration.function()).parameters
    for name, parameter in parameters.items():
        is_required = (
            parameter.default is inspect.Parameter.empty
            and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        )
        if is_required and name not in bound and name not in given:
            raise errors.InputError(
                f"RUN = {run!r} needs {name}, which nothing binds: add"
                f' --set "{run.name}.{name} = VALUE"'
            )


def _check_run(found):
    if "RUN" not in found.macros:
        raise errors.InputError(
            "the gin files name no RUN: the first --gin must be that of a run,"
            " such as gin/pretrain.gin"
        )
    if found.run is None or found.run.evaluate:
        raise errors.InputError(
            f"{_place(found, 'RUN')}RUN = {found.macros['RUN']!r} is not a"
            " function: write RUN = @module.function"
        )


def _check_functions(found):
    """Refuse names of functions that there are not."""
    used = {}
    for name, value in (found.macros | found.parameters).items():
        functions = [r.function for r in references(value)]
        if name in found.parameters:
            functions.append(function_of(name))
        for function in functions:
            used.setdefault(function, _place(found, name))
    for function, place in used.items():
        if function not in public_names.PUBLIC and not _exists(
            found, function, place
        ):
            known = sorted(public_names.PUBLIC)
            raise errors.InputError(
                f"{place}there is no {function} to bind"
                f"{_nearest(function, known)}"
            )


def _exists(found, function, place):
    """Whether an import of the files gives a function."""
    try:
        return callable(found.find(function))
    except ImportError as error:
        message = missing_module(error) or str(error)
        raise errors.InputError(f"{place}{message}") from None


def _check_settings(settings, used):
    macros = used.used_macros(*_READ_BY_MAIN)
    for setting in settings:
        name = public_names.current(setting.split("=")[0].strip())
        if "." not in name and name not in macros:
            raise errors.InputError(
                f'--set "{setting}": {_unused(name, setting, used, macros)}'
            )
        if "." in name and name not in used.parameters:
            raise errors.InputError(
                f'--set "{setting}": {used.run!r} does not use {name}'
            )


def _unused(name, setting, used, macros):
    value = setting.partition("=")[2].strip()
    former = public_names.FORMER_DIALS.get(name, ())
    if isinstance(former, str):
        return f"{name} needs --gin {former} after the file of the run"
    reached = used.reached()
    now = [
        parameter
        for parameter in former
        if parameter.rpartition(".")[0] in reached
    ]
    if now:
        return f'{name} is bound by its parameter: --set "{now[0]} = {value}"'
    return f"nothing uses a macro {name}{nearest(name, sorted(macros))}"


def _check_macros(used):
    for name in sorted(used.used_macros() - used.macros.keys()):
        users = [
            parameter
            for parameter, value in (used.parameters | used.macros).items()
            if Macro(name) == value or name in used.macros_in(value)
        ]
        raise errors.InputError(
            f"{_place(used, users[0])}macro {name} is not defined: "
            f"{_how_to_give(name)}"
        )
    for name, value in sorted((used.macros | used.parameters).items()):
        if value == REQUIRED:
            raise errors.InputError(
                f"{_place(used, name)}{name} must be given: "
                f"{_how_to_give(name)}"
            )


def _check_parameters(used):
    """Refuse parameters that there are not, and values of a wrong kind."""
    for name, value in used.parameters.items():
        function, _, parameter = name.rpartition(".")
        there = _parameters(used, function, _place(used, name))
        takes_all = any(p.kind is p.VAR_KEYWORD for p in there.values())
        if parameter not in there and not takes_all:
            raise errors.InputError(
                f"{_place(used, name)}{function} has no parameter {parameter}"
                f"{_nearest(parameter, sorted(there))}"
            )
        value = used.value(value)
        if parameter in there and not references(value):
            try:
                annotation = there[parameter].annotation
                checks.check(parameter, value, annotation)
            except errors.InputError as error:
                label = _label(used, name)
                message = str(error).replace(f"`{parameter}`", label)
                place = _place(used, label)
                raise errors.InputError(f"{place}{message}") from None


def _parameters(used, function, place=""):
    """Return the parameters of a function; modules are imported for it."""
    try:
        return public_names.parameters(used.find(function))
    except ImportError as error:
        message = missing_module(error)
        if message is None:
            raise
        raise errors.InputError(f"{place}{message}") from None


def _hand_to_gin(used):
    """Let gin inject all values when the run is called."""
    gin.clear_config()
    functions = {function_of(name) for name in used.parameters}
    for function in sorted(functions | used.reached()):
        module, _, name = function.rpartition(".")
        gin.register(name, module=module or None)(used.find(function))
    gin.parse_config(used.text(with_imports=False))
    gin.finalize()


def _label(used, name):
    """Return the macro bound to a parameter, else the parameter's name."""
    value = used.parameters[name]
    return value.name if isinstance(value, Macro) else name


def _place(found, name):
    place = found.places.get(name)
    return f"{place}: " if place else ""


def _nearest(name, known):
    close = nearest(name, known)
    return close if close.startswith("; did you") else ""


def _how_to_give(name):
    if name == "WORKDIR":
        return "add --workdir DIR"
    return f'add --set "{name} = VALUE"'
