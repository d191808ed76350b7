"""Resolve gin files and `--set` into one checked configuration.

`resolve` reads all files and settings into `Bindings`, checks them, and hands
what the run uses to gin. Every mistake is one `InputError` that names file
and line, before anything starts. `Bindings` are plain data: the identity of a
run (`sha256`, `differences`) and the text of `config.gin` come from them.

Gin files may refer to the names in `public_names` only, so a `config.gin`
from somebody else runs no other code. Other modules must be allowed by name.
"""

import dataclasses
import functools
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
from gpt1_keras import files
from gpt1_keras import public_names

_PACKAGE = pathlib.Path(__file__).resolve().parent
# A wheel carries the gin files inside the package, a checkout beside it.
ROOT = _PACKAGE if (_PACKAGE / "gin").is_dir() else _PACKAGE.parent

# Runs that keep every version they make: any configuration of such a run may
# follow another in one workdir.
VERSIONED_RUNS = frozenset({"export.export"})

# Parameters that may grow in a workdir when EXTEND is True.
EXTENDABLE = ("num_steps", "num_epochs")

# Macros that `gpt1_keras.main` reads itself, so no binding need use them.
_READ_BY_MAIN = ("RUN", "WORKDIR", "EXTEND")

# Arguments that main passes to a run; they are no part of the recipe.
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
        allowed: names of modules whose functions may be referred to although
            they are not in `public_names`.
    """

    macros: dict
    parameters: dict
    imports: dict = dataclasses.field(default_factory=dict, compare=False)
    places: dict = dataclasses.field(default_factory=dict, compare=False)
    allowed: tuple = dataclasses.field(default=(), compare=False)

    @property
    def run(self):
        """The `Reference` bound to RUN, or None."""
        run = self.macros.get("RUN")
        return run if isinstance(run, Reference) else None

    def module_of(self, function):
        """Return (module, attribute) of a function that is not public.

        None if no import of the files gives it.
        """
        path = function.split(".")
        for i in range(len(path) - 1, 0, -1):
            module = self.imports.get(".".join(path[:i]))
            if module is not None:
                return module, ".".join(path[i:])
        return None

    def find(self, function):
        """Return the function or class of a name, None if there is none.

        Raises:
            ImportError: a module that it needs is missing.
        """
        function = function.rpartition("/")[2]
        if function in public_names.PUBLIC:
            return public_names.find(function)
        module, attribute = self.module_of(function) or (None, None)
        if not is_allowed(module, self.allowed):
            return None
        return getattr(importlib.import_module(module), attribute, None)

    def signature(self, function):
        """Return {parameter: `inspect.Parameter`}, empty if unknown.

        Raises:
            ImportError: a module that it needs is missing.
        """
        found = self.find(function)
        return {} if found is None else public_names.parameters(found)

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
        """Return the value of a macro, or of the parameter that replaced it."""
        if name in self.macros:
            return self.value(self.macros[name])
        for parameter in public_names.FORMER_DIALS.get(name, ()):
            if parameter in self.parameters:
                return self.value(self.parameters[parameter])
        return None

    def label(self, name):
        """Return the macro bound to a parameter, else the parameter's name."""
        value = self.parameters.get(name)
        return value.name if isinstance(value, Macro) else name

    def place(self, name):
        """Return "file, line: " of a macro or parameter, or an empty text."""
        return f"{self.places[name]}: " if name in self.places else ""

    def macros_in(self, value, above=()):
        """Return the names of the macros in `value` and in their values."""
        names = set()
        for one in _leaves(value):
            if not isinstance(one, Macro) or one == REQUIRED:
                continue
            if one.name in above:
                raise errors.InputError(
                    f"macro {one.name} is defined in terms of itself: give it"
                    " a value"
                )
            below = (*above, one.name)
            names.add(one.name)
            names |= self.macros_in(self.macros.get(one.name), below)
        return names

    def used_macros(self, *more):
        """Return the names of the macros that parameters use, or `more` do."""
        values = [*self.parameters.values(), *map(self.macros.get, more)]
        return set(more).union(*map(self.macros_in, values))

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

    def parameters_of(self, *functions):
        """Return the parameters bound to functions, in any scope."""
        return {
            name: value
            for name, value in self.parameters.items()
            if function_of(name) in functions
        }

    def without_unused(self, *kept):
        """Return these bindings without what the run never refers to.

        So an overlay may bind parameters of several runs. `kept` names macros
        that stay in any case.
        """
        small = dataclasses.replace(
            self, parameters=self.parameters_of(*self.reached())
        )
        used = small.used_macros(*kept)
        macros = {k: v for k, v in self.macros.items() if k in used}
        return dataclasses.replace(small, macros=macros)

    def recipe(self):
        """Return {parameter: text of its value} of what makes the run.

        Left out is what its annotation marks as no part of the recipe, all
        that is referred to only there, and what equals the default. Macros
        are replaced by their values.
        """

        @functools.cache
        def signature(function):
            try:
                return self.signature(function)
            except (ImportError, TypeError):
                return {}

        def parameter(name):
            return signature(function_of(name)).get(name.rpartition(".")[2])

        def is_recipe(name, _=None):
            found = parameter(name)
            return name.rpartition(".")[2] not in _FROM_MAIN and (
                found is None or checks.is_recipe(found.annotation)
            )

        bound = self.parameters
        if self.run is not None:
            bound = self.parameters_of(*self.reached(is_recipe))
        recipe = {}
        for name in sorted(filter(is_recipe, bound)):
            value, found = self.value(bound[name]), parameter(name)
            text = _canonical(value)
            if found is not None:
                if text == _canonical(found.default):
                    continue
                if checks.is_location(found.annotation) and value is not None:
                    text = "a path"
            recipe[name] = text
        return recipe | {"RUN": _canonical(self.macros.get("RUN"))}

    def sha256(self):
        """Return the hex hash of what changes data, model or recipe."""
        lines = [f"{name} = {text}" for name, text in self.recipe().items()]
        return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()

    def is_version_of(self, other):
        """Return whether both belong to one run that keeps versions."""
        return (
            self.run is not None
            and self.run.name in VERSIONED_RUNS
            and self.run == other.run
        )

    def text(self, with_imports=True):
        """Return these bindings in gin syntax; `read_bindings` reads them."""
        lines = self._import_lines() if with_imports else []
        lines += ["# Macros:", _RULE]
        lines += [_line(*item) for item in sorted(self.macros.items())]
        function = None
        for name, value in sorted(self.parameters.items()):
            if name.rpartition(".")[0] != function:
                function = name.rpartition(".")[0]
                lines += ["", f"# Parameters for {function}:", _RULE]
            lines.append(_line(name, value))
        return "\n".join(lines) + "\n"

    def _import_lines(self):
        functions = {function_of(name) for name in self.parameters} | {
            reference.function
            for value in [*self.macros.values(), *self.parameters.values()]
            for reference in references(value)
        }
        lines = [
            f"import {module}" + ("" if name == module else f" as {name}")
            for name, module in sorted(self.imports.items())
            if any(
                function.startswith(name + ".")
                for function in functions - public_names.PUBLIC.keys()
            )
        ]
        if not lines:
            return []
        return ["from __gin__ import dynamic_registration", *lines, ""]


def read_bindings(text, allowed=()):
    """Return the `Bindings` of gin `text` such as a `config.gin`.

    Nothing is imported but `allowed` modules and those of public names.

    Raises:
        InputError: `text` is not gin.
    """
    reader = _Reader(allowed, is_strict=False)
    reader.read_text(text, "config.gin")
    return reader.bindings()


def is_allowed(module, allowed):
    """Return whether `module` is one of the allowed modules, or inside one."""
    return module is not None and any(
        f"{module}.".startswith(f"{one}.") for one in allowed
    )


def differences(old, new):
    """Return [(name, old value, new value)] of what the hash covers.

    A macro is named where it explains the difference, otherwise the
    parameter. None stands for a value that one side does not have.
    """
    found = {}
    before, after = old.recipe(), new.recipe()
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        sides = (old, new)
        values = [side.parameters.get(name) for side in sides]
        if name == "RUN":
            values = [side.macros.get(name) for side in sides]
        macros = [s.macros_in(v) for s, v in zip(sides, values, strict=True)]
        explained = {}
        if None in values or macros[0] == macros[1]:
            explained = {
                macro: tuple(side.macros.get(macro) for side in sides)
                for macro in sorted(macros[0] | macros[1])
                if old.macros.get(macro) != new.macros.get(macro)
            }
        shown = tuple(s.value(v) for s, v in zip(sides, values, strict=True))
        found |= explained or {name: shown}
    return [(name, *pair) for name, pair in found.items()]


@dataclasses.dataclass(frozen=True)
class Configuration:
    """All bindings in force, after all files and settings.

    Attributes:
        bindings: `Bindings` of the run and all it refers to.
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
        bindings, last = self.bindings, name.rpartition(".")[2]
        labels = sorted(
            bindings.label(full)
            for full in bindings.parameters
            if f".{full}".endswith(f".{name}")
        )
        if last.upper() in labels:
            return last.upper()
        for function in sorted(bindings.reached()):
            if not labels and last in bindings.signature(function):
                labels = [f"{function}.{last}"]
                if not f".{labels[0]}".endswith(f".{name}"):
                    labels = []
        return labels[0] if labels else name


def resolve(names, settings, workdir=None, allowed=()):
    """Parse, check and finalize gin's global configuration.

    Args:
        names: list of str, gin files. Later files override earlier ones.
        settings: list of str, each "NAME = VALUE". They override the files.
        workdir: str or None. Becomes the macro WORKDIR where given.
        allowed: names of modules that the files may refer to beside the
            public names.

    Returns:
        The `Configuration`; gin is locked afterwards.

    Raises:
        InputError: whatever is wrong with the files or the settings.
    """
    if not names:
        raise errors.InputError(
            "no --gin FILE given: name a run, such as --gin gin/pretrain.gin"
        )
    found = read(names, settings, allowed)
    if workdir is not None:
        found.macros["WORKDIR"] = workdir
    _check_run(found)
    _check_functions(found)
    _bind_former_dials(found)
    used = found.without_unused(*_READ_BY_MAIN)
    _check_settings(settings, used)
    _check_macros(used)
    _check_parameters(used)
    _hand_to_gin(used)
    return Configuration(used, used.sha256())


def check_arguments(configuration, given):
    """Raise InputError if a required argument is not bound.

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


def missing_module(error):
    """Return a line on what to install after ImportError `error`.

    None if it is a module of this program that is missing.
    """
    message = str(error).split("\n")[0]
    missing = re.search(r"No module named '(\w+)'", message)
    if missing is None:
        return None
    remedy = "pip install -r requirements.txt"
    if missing[1] in ("tensorflow", "jax", "torch"):
        remedy += ", or set KERAS_BACKEND to a backend that is installed"
    return f"{message}: {remedy}"


def locate(name):
    """Return the path of file or folder `name`, or None if there is none.

    A relative name is looked for in the repository (or the installed package)
    and then in the current directory.
    """
    name = files.user_path("--gin", name)
    for directory in (ROOT, pathlib.Path.cwd()):
        if (directory / name).exists():
            return directory / name
    return None


def read(names, settings, allowed=()):
    """Return the `Bindings` of files and settings; later ones override.

    Args:
        names: list of str, gin files.
        settings: list of str, each "NAME = VALUE".
        allowed: see `Bindings`.

    Raises:
        InputError: a file is missing or unreadable, or not gin.
    """
    reader = _Reader(allowed)
    for name in names:
        reader.read_file(name, "--gin ")
    for setting in settings:
        shown = setting if len(setting) <= 80 else f"{setting[:60]} ..."
        label = f'--set "{shown}"'
        if not re.match(r"\s*[\w./]+\s*=", setting):
            raise errors.InputError(f'{label}: write --set "NAME = VALUE"')
        reader.read_text(setting, label, is_setting=True)
    return reader.bindings()


class _Reader:
    """Collects the statements of files and settings in their order."""

    def __init__(self, allowed, is_strict=True):
        self._is_strict = is_strict
        self._bound = {}
        self._imports = {}
        self._places = {}
        self._allowed = tuple(allowed)
        self._open = {}

    def bindings(self):
        """Return all that was read as `Bindings`, in today's names."""
        macros = {k: v for k, v in self._bound.items() if "." not in k}
        parameters = {k: v for k, v in self._bound.items() if "." in k}
        functions = {function_of(name) for name in parameters}
        for name, function in public_names.ADDED.items():
            if function_of(name) in functions:
                parameters.setdefault(name, Reference(function, True))
        return Bindings(
            macros, parameters, self._imports, self._places, self._allowed
        )

    def read_file(self, name, by):
        """Read a file that `locate` finds, and what it includes.

        Args:
            name: str.
            by: str, what names the file, for the message.
        """
        path = locate(name)
        if path is None or not path.is_file():
            known = [
                path.relative_to(ROOT).as_posix()
                for path in (ROOT / "gin").rglob("*.gin")
            ]
            raise errors.InputError(
                f"{by}{name}: no such file in {ROOT} or the current directory"
                f"{_did_you_mean(name, known)}"
            )
        resolved = path.resolve()
        if resolved in self._open:
            cycle = " -> ".join((*self._open.values(), name))
            raise errors.InputError(f"{name}: includes itself: {cycle}")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise errors.InputError(
                f"{name}: cannot be read as text: {error}"
            ) from None
        self._open[resolved] = name
        self.read_text(text, name)
        del self._open[resolved]

    def read_text(self, text, label, is_setting=False):
        """Read gin text; `label` names it in messages."""
        place = label
        try:
            for statement in config_parser.ConfigParser(text, _Symbols()):
                if not is_setting:
                    place = f"{label}, line {statement.location.line_num}"
                self._take(statement, place)
        except SyntaxError as error:
            raise _syntax_error(label, error.msg, error.lineno) from None
        except tokenize.TokenError as error:
            reason, (line, _) = error.args
            raise _syntax_error(label, reason, line) from None
        except (RecursionError, MemoryError):
            raise errors.InputError(
                f"{label}: a value is nested too deeply"
            ) from None

    def _take(self, statement, place):
        if isinstance(statement, config_parser.IncludeStatement):
            self.read_file(statement.filename, f"{place}: include ")
        elif isinstance(statement, config_parser.ImportStatement):
            self._take_import(statement, place)
        elif isinstance(statement, config_parser.BindingStatement):
            scope, selector, parameter, value, _ = statement
            if not all(map(_is_finite, _leaves(value))):
                raise errors.InputError(
                    f"{place}: a number is too large for a float"
                )
            name = f"{scope}/{selector}" if scope else selector
            if parameter:
                name = public_names.current(f"{name}.{parameter}")
            self._bound.pop(name, None)
            self._bound[name] = value
            self._places[name] = place

    def _take_import(self, statement, place):
        module = statement.module
        if module.startswith("__gin__"):
            return
        if self._is_strict and not is_allowed(
            module, ("gpt1_keras", *self._allowed)
        ):
            raise errors.InputError(
                f"{place}: import of {module}: gin files may only use "
                f"gpt1_keras; if you trust it, add --allow_module {module}"
            )
        name = statement.alias or module.rpartition(".")[2]
        if not statement.is_from and not statement.alias:
            name = module
        self._imports[name] = module


class _Symbols(config_parser.ParserDelegate):
    """Keeps macros and references as symbols instead of looking them up."""

    def configurable_reference(self, scoped_configurable_name, evaluate):
        name = public_names.current(scoped_configurable_name)
        return Reference(name, evaluate)

    def macro(self, macro_name):
        return Macro(macro_name)


def _syntax_error(label, reason, line):
    reason = " ".join(str(reason).split()).rstrip(".")
    # Python names an object in memory before it comes to the point.
    reason = re.sub(r"^malformed node.*(?=Failed)", "", reason)
    where = label if label.startswith("--set") else f"{label}, line {line}"
    return errors.InputError(
        f"{where}: {reason} (values are Python literals; text needs quotes,"
        " arithmetic is not supported)"
    )


def function_of(name):
    """Return the function of a parameter "scope/module.function.name"."""
    return name.rpartition("/")[2].rpartition(".")[0]


def references(value):
    """Return the `Reference`s in a value."""
    return [one for one in _leaves(value) if isinstance(one, Reference)]


def _leaves(value):
    """Return the innermost values of a nested value."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _is_finite(value):
    return not isinstance(value, float) or math.isfinite(value)


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


def _line(name, value):
    text = repr(value)
    if len(name) + len(text) > 76 and isinstance(value, dict | list | tuple):
        folded = pprint.pformat(value, width=76, sort_dicts=False)
        try:
            if read_bindings(f"A = {folded}\n").macros["A"] == value:
                text = folded.replace("\n", "\n    ")
        except errors.InputError:
            pass  # Gin does not read text folded in several pieces.
    return f"{name} = {text}"


def _check_run(found):
    if "RUN" not in found.macros:
        raise errors.InputError(
            "the gin files name no RUN: the first --gin must be that of a run,"
            " such as gin/pretrain.gin"
        )
    if found.run is None or found.run.evaluate:
        raise errors.InputError(
            f"{found.place('RUN')}RUN = {found.macros['RUN']!r} is not a"
            " function: write RUN = @module.function"
        )


def _check_functions(found):
    """Refuse names of functions that do not exist or are not allowed."""
    used = {}
    for name, value in (found.macros | found.parameters).items():
        functions = [r.function for r in references(value)]
        if name in found.parameters:
            functions.append(function_of(name))
        for function in functions:
            used.setdefault(function, found.place(name))
    for function, place in used.items():
        if function in public_names.PUBLIC:
            continue
        module, _ = found.module_of(function) or (None, None)
        if module is not None and not is_allowed(module, found.allowed):
            raise errors.InputError(
                f"{place}{function} of {module} is not a public name of "
                f"gpt1_keras; if you trust it, add --allow_module {module}"
            )
        try:
            exists = callable(found.find(function))
        except ImportError as error:
            message = missing_module(error) or str(error)
            raise errors.InputError(f"{place}{message}") from None
        if not exists:
            raise errors.InputError(
                f"{place}there is no {function} to bind"
                f"{_did_you_mean(function, public_names.PUBLIC)}"
            )


def _bind_former_dials(found):
    """Bind the parameters of former macros that a command still sets."""
    used, reached = found.used_macros(), found.reached()
    for dial, parameters in public_names.FORMER_DIALS.items():
        if dial in found.macros and dial not in used:
            for name in parameters:
                if function_of(name) in reached:
                    found.parameters[name] = Macro(dial)


def _check_settings(settings, used):
    macros = used.used_macros(*_READ_BY_MAIN)
    for setting in settings:
        name = public_names.current(setting.split("=")[0].strip())
        if "." in name and name not in used.parameters:
            problem = f"{used.run!r} does not use {name}"
        elif "." not in name and name not in macros:
            problem = f"nothing uses a macro {name}"
            if name in public_names.OVERLAYS:
                problem += f" without --gin {public_names.OVERLAYS[name]}"
            else:
                problem += _did_you_mean(name, macros, is_listed=True)
        else:
            continue
        raise errors.InputError(f'--set "{setting}": {problem}')


def _did_you_mean(name, known, is_listed=False):
    near = checks.nearest(name, known)
    if near is None and is_listed:
        return f"; there are {', '.join(sorted(known))}"
    return f"; did you mean {near}?" if near else ""


def _check_macros(used):
    for name in sorted(used.used_macros() - used.macros.keys()):
        user = next(
            user
            for user, value in (used.parameters | used.macros).items()
            if Macro(name) == value or name in used.macros_in(value)
        )
        raise errors.InputError(
            f"{used.place(user)}macro {name} is not defined: "
            f"{_how_to_give(name)}"
        )
    for name, value in sorted((used.macros | used.parameters).items()):
        if value == REQUIRED:
            raise errors.InputError(
                f"{used.place(name)}{name} must be given: {_how_to_give(name)}"
            )


def _how_to_give(name):
    if name == "WORKDIR":
        return "add --workdir DIR"
    return f'add --set "{name} = VALUE"'


def _check_parameters(used):
    """Refuse unknown parameters, and values of a wrong type."""
    for name, bound in list(used.parameters.items()):
        function, parameter = function_of(name), name.rpartition(".")[2]
        try:
            signature = used.signature(function)
        except ImportError as error:
            message = missing_module(error)
            if message is None:
                raise
            raise errors.InputError(f"{used.place(name)}{message}") from None
        if parameter not in signature:
            if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
                continue
            raise errors.InputError(
                f"{used.place(name)}{function} has no parameter {parameter}"
                f"{_did_you_mean(parameter, signature)}"
            )
        value = used.value(bound)
        if references(value):
            continue
        label, annotation = used.label(name), signature[parameter].annotation
        try:
            checks.check(parameter, value, annotation)
            if checks.is_path(annotation) and isinstance(value, str):
                _expand(used, name, files.user_path(label, value))
        except errors.InputError as error:
            message = str(error).replace(f"`{parameter}`", label)
            raise errors.InputError(f"{used.place(label)}{message}") from None


def _expand(used, name, path):
    """Bind the expanded path in place of one that begins with `~`."""
    into, value = used.parameters, used.parameters[name]
    if not used.value(value).startswith("~"):
        return
    while isinstance(value, Macro):
        into, name = used.macros, value.name
        value = used.macros[name]
    into[name] = str(path)


def _hand_to_gin(used):
    """Let gin inject all values when the run is called."""
    gin.clear_config()
    functions = {function_of(name) for name in used.parameters}
    for function in sorted(functions | used.reached()):
        module, _, name = function.rpartition(".")
        gin.register(name, module=module or None)(used.find(function))
    gin.parse_config(used.text(with_imports=False))
    gin.finalize()
