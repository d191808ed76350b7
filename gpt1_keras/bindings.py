"""Bindings of gin files and `--set`, as plain data.

`read` collects the statements of files and settings without running or
importing anything. The identity of a run (`Bindings.sha256`, `differences`) and
the text of `config.gin` derive from them.
"""

import dataclasses
import hashlib
import importlib
import inspect
import itertools
import math
import pathlib
import re
import tokenize

from gin import config_parser

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import public_names

_PACKAGE = pathlib.Path(__file__).resolve().parent
# A wheel carries the gin files inside the package, a checkout beside it.
ROOT = _PACKAGE if (_PACKAGE / "gin").is_dir() else _PACKAGE.parent
# Arguments that main passes to a run; they are not part of the recipe.
FROM_MAIN = ("workdir", "config_sha256", "is_writer")
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
    """All bindings: Python literals with `Macro`s and `Reference`s in them."""

    macros: dict  # {name: value}
    parameters: dict  # {"scope/function.parameter": value}
    # {name in the text: the module it stands for}
    imports: dict = dataclasses.field(default_factory=dict, compare=False)
    # {macro or parameter: where it was bound, as "gin/pretrain.gin, line 3"}
    places: dict = dataclasses.field(default_factory=dict, compare=False)
    # Modules outside `public_names` whose functions gin files may use.
    allowed: tuple = dataclasses.field(default=(), compare=False)

    @property
    def run(self):
        """The `Reference` bound to RUN, or None."""
        run = self.macros.get("RUN")
        return run if isinstance(run, Reference) else None

    @property
    def bound(self):
        """All parameters and macros with their values."""
        return self.parameters | self.macros

    def find(self, function):
        """Return the function or class of a name, None if there is none.

        Raises ImportError if a module that it needs is not installed.
        """
        name, _, attribute = function.rpartition(".")
        module = self.imports.get(name)
        if function in public_names.PUBLIC or not self.allows(module):
            return public_names.find(function)
        return getattr(importlib.import_module(module), attribute, None)

    def allows(self, module):
        """Return whether gin files may use functions of a module."""
        return any(f"{module}.".startswith(f"{a}.") for a in self.allowed)

    def signature(self, function):
        """Return a function's {parameter: `inspect.Parameter`}; see `find`."""
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
        bound = self.parameters.items()
        return [self.value(v) for k, v in bound if k.rpartition("/")[2] == name]

    def label(self, name):
        """Return the name of the macro bound to a parameter, else its own."""
        value = self.parameters.get(name)
        return value.name if isinstance(value, Macro) else name

    def error(self, name, problem):
        """Return an InputError that says where `name` was bound."""
        place = f"{self.places[name]}: " if name in self.places else ""
        return errors.InputError(f"{place}{problem}")

    def comment(self, name):
        """Return the comment beside the line that binds `name`, or ""."""
        place = re.fullmatch(r"(.+), line (\d+)", self.places.get(name, ""))
        if place is None:
            return ""
        lines = _locate(place[1]).read_text("utf-8").splitlines()
        first, *rest = lines[int(place[2]) - 1 :]
        # Up to the first "#" outside quotes.
        first = re.sub(r"""^([^#'"]|'[^']*'|"[^"]*")*""", "", first)
        # The comment may continue below.
        more = itertools.takewhile(re.compile(" {12,}#").match, rest)
        return " ".join(x.partition("#")[2].strip() for x in (first, *more))

    def macros_in(self, value, above=()):
        """Return the names of the macros in `value` and in their values."""
        names = set()
        for one in _leaves(value):
            if not isinstance(one, Macro) or one == REQUIRED:
                continue
            if one.name in above:
                problem = f"macro {one.name} is defined in terms of itself"
                raise self.error(one.name, f"{problem}: give it a value")
            inner = self.macros.get(one.name)
            names |= {one.name, *self.macros_in(inner, (*above, one.name))}
        return names

    def used_macros(self, *more):
        """Return the macros in `more` and all that these or parameters use."""
        return self.macros_in([*self.parameters.values(), *map(Macro, more)])

    def functions(self):
        """Return {function: the macro or parameter that first mentions it}."""
        found = {}
        for name, value in (self.macros | self.parameters).items():
            if name in self.parameters:
                found.setdefault(split(name)[0], name)
            for reference in references(value):
                found.setdefault(reference.function, name)
        return found

    def reached(self, is_followed=lambda name: True):
        """Return the names of all functions that the run refers to.

        References in a parameter are followed if `is_followed(parameter)`.
        """
        found, waiting = set(), references(self.run)
        while waiting:
            function = waiting.pop().function
            if function not in found:
                found.add(function)
                for name, value in self.parameters_of(function).items():
                    if is_followed(name):
                        waiting += references(self.value(value))
        return found

    def parameters_of(self, *functions):
        """Return the parameters bound to functions, in any scope."""
        bound = self.parameters.items()
        return {k: v for k, v in bound if split(k)[0] in functions}

    def without_unused(self, *kept):
        """Return the bindings that the run uses, and the macros `kept`.

        So an overlay may bind parameters of several runs.
        """
        parameters = self.parameters_of(*self.reached())
        small = dataclasses.replace(self, parameters=parameters)
        used = small.used_macros(*kept)
        macros = {k: v for k, v in self.macros.items() if k in used}
        return dataclasses.replace(small, macros=macros)

    def recipe(self, *, with_paths=False):
        """Return the recipe as {parameter: text of its value}.

        It omits parameters marked as `checks.NotRecipe`, functions that only
        these refer to, and values equal to the default. Macros are replaced by
        their values. Without `with_paths`, it says only that a path is given.
        """

        def declared(name):
            """Return a parameter's default and its `checks.Mark`s."""
            function, last = split(name)
            try:
                found = self.signature(function)[last]
            except (ImportError, TypeError, KeyError):
                return inspect.Parameter.empty, []
            return found.default, checks.marks(found.annotation)

        def is_recipe(name):
            is_given = split(name)[1] in FROM_MAIN
            return not is_given and all(m.recipe for m in declared(name)[1])

        bound = self.parameters
        if self.run is not None:
            bound = self.parameters_of(*self.reached(is_recipe))
        recipe = {}
        for name in sorted(filter(is_recipe, bound)):
            value, (default, marks) = self.value(bound[name]), declared(name)
            text = _canonical(value)
            if text == _canonical(default):
                continue
            is_hidden = isinstance(value, str) and any(
                m.is_location or (m.is_path and not with_paths) for m in marks
            )
            recipe[name] = "a path" if is_hidden else text
        return recipe | {"RUN": _canonical(self.macros.get("RUN"))}

    def sha256(self):
        """Return the hash of the recipe as hex digits."""
        lines = [f"{name} = {text}" for name, text in self.recipe().items()]
        return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()

    def text(self, with_imports=True):
        """Return these bindings in gin syntax, for `read_text`."""
        functions = self.functions().keys() - public_names.PUBLIC.keys()
        used = {name.rpartition(".")[0] for name in functions}
        lines = [
            f"import {module}" + ("" if name == module else f" as {name}")
            for name, module in sorted(self.imports.items())
            if with_imports and name in used
        ]
        if lines:
            lines = ["from __gin__ import dynamic_registration", *lines, ""]
        lines += ["# Macros:", _RULE]
        lines += [f"{name} = {v!r}" for name, v in sorted(self.macros.items())]
        for function, names in itertools.groupby(
            sorted(self.parameters), lambda name: name.rpartition(".")[0]
        ):
            lines += ["", f"# Parameters for {function}:", _RULE]
            lines += [f"{name} = {self.parameters[name]!r}" for name in names]
        return "\n".join(lines) + "\n"


def split(name):
    """Return function and parameter of "scope/module.function.parameter"."""
    function, _, parameter = name.rpartition("/")[2].rpartition(".")
    return function, parameter


def references(value):
    return [one for one in _leaves(value) if isinstance(one, Reference)]


def _leaves(value):
    """Return the innermost values of a nested value."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _canonical(value):
    """Return a text that is the same for equivalent values."""
    if isinstance(value, dict):
        items = sorted((_canonical(k), _canonical(v)) for k, v in value.items())
        return "{" + ", ".join(f"{k}: {v}" for k, v in items) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_canonical, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e3 and 1000 are the same number of steps.
    return repr(value)


def differences(old, new, *, with_paths=False):
    """Return [(name, old value, new value)] where two recipes differ.

    The name is a macro if it explains the difference, else a parameter.
    """
    found = {}
    first, second = (side.recipe(with_paths=with_paths) for side in (old, new))
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) == second.get(name):
            continue
        before, after = old.bound.get(name), new.bound.get(name)
        macros = old.macros_in(before), new.macros_in(after)
        # Unless both sides bind the parameter, and to different macros.
        may_explain = None in (before, after) or macros[0] == macros[1]
        explained = {
            macro: (old.macros.get(macro), new.macros.get(macro))
            for macro in sorted(macros[0] | macros[1])
            if may_explain and old.macros.get(macro) != new.macros.get(macro)
        }
        found |= explained or {name: (old.value(before), new.value(after))}
    return [(name, *pair) for name, pair in found.items()]


def _locate(name):
    """Return the path of a gin file in ROOT or the current folder, or None."""
    name = files.user_path("--gin", name)
    paths = (ROOT / name, pathlib.Path.cwd() / name)
    return next(filter(pathlib.Path.is_file, paths), None)


def read_text(text, allowed=()):
    """Return the `Bindings` of gin `text` such as a `config.gin`."""
    found = Bindings({}, {}, allowed=tuple(allowed))
    _add_text(found, text, "config.gin")
    return _with_added(found)


def read(names, settings, allowed=()):
    """Return the `Bindings` of gin files and settings; later ones override."""
    found = Bindings({}, {}, allowed=tuple(allowed))
    for name in names:
        _add_file(found, name, "--gin ")
    for setting in settings:
        label = f'--set "{errors.shortened(setting)}"'
        if not re.match(r"\s*[\w./]+\s*=", setting):
            raise errors.InputError(f'{label}: write --set "NAME = VALUE"')
        _add_text(found, setting, label)
    return _with_added(found)


def _with_added(found):
    """Bind the objects that now hold parameters of an older file."""
    functions = {split(name)[0] for name in found.parameters}
    for name, function in public_names.ADDED.items():
        if split(name)[0] in functions:
            found.parameters.setdefault(name, Reference(function, True))
    found.used_macros(*found.macros)  # Refuses circular definitions.
    return found


def _add_file(found, name, by, above=()):
    """Add a file to `found`; `above` are the files that include it."""
    path = _locate(name)
    if path is None:
        paths = (ROOT / "gin").rglob("*.gin")
        known = [path.relative_to(ROOT).as_posix() for path in paths]
        near = checks.did_you_mean(name, known)
        problem = f"no such file in {ROOT} or the current directory{near}"
        raise errors.InputError(f"{by}{name}: {problem}")
    path = path.resolve()
    if path in above:
        raise errors.InputError(f"{by}{name}: the file includes itself")
    _add_text(found, files.read_text(name, path), name, (*above, path))


def _add_text(found, text, label, above=()):
    """Add the bindings of gin text; `label` names it in messages."""

    def place(line):
        return label if label.startswith("--set") else f"{label}, line {line}"

    try:
        for statement in config_parser.ConfigParser(text, _Symbols()):
            where = place(statement.location.line_num)
            _add_statement(found, statement, where, above)
    except (SyntaxError, tokenize.TokenError) as error:
        if isinstance(error, SyntaxError):
            reason, line = error.msg, error.lineno
        else:
            reason, (line, _) = error.args
        reason = " ".join(str(reason).split()).rstrip(".")
        # Python's message starts with the repr of an object: drop it.
        reason = re.sub(r"^malformed node.*(?=Failed)", "", reason)
        raise errors.InputError(
            f"{place(line)}: {reason} (values are Python literals; text needs"
            " quotes, arithmetic is not supported)"
        ) from None
    except TypeError as error:  # a list as key of a dict
        raise errors.InputError(f"{label}: {error}") from None
    except (RecursionError, MemoryError):
        problem = f"{label}: a value is nested too deeply"
        raise errors.InputError(problem) from None


def _add_statement(found, statement, place, above):
    if isinstance(statement, config_parser.IncludeStatement):
        _add_file(found, statement.filename, f"{place}: include ", above)
    elif isinstance(statement, config_parser.ImportStatement):
        name = module = statement.module
        if statement.alias or statement.is_from:
            name = statement.bound_name()
        if not module.startswith("__gin__"):
            found.imports[name] = module
    elif isinstance(statement, config_parser.BindingStatement):
        scope, name, parameter, value, _ = statement
        if any(v in (math.inf, -math.inf) for v in _leaves(value)):
            raise errors.InputError(f"{place}: a number is too large")
        if scope:
            name = f"{scope}/{name}"
        if parameter:
            name = public_names.current(f"{name}.{parameter}")
        if name in public_names.REMOVED:
            return
        (found.parameters if "." in name else found.macros)[name] = value
        found.places[name] = place


class _Symbols(config_parser.ParserDelegate):
    """Gin parser that leaves macros and references as symbols."""

    def configurable_reference(self, scoped_configurable_name, evaluate):
        name = public_names.current(scoped_configurable_name)
        return Reference(name, evaluate)

    def macro(self, macro_name):
        return Macro(macro_name)
