"""Resolve gin files and `--set` into one checked configuration.

`resolve` reads all files and settings into `bindings.Bindings`, checks them,
and passes what the run uses to gin. Every mistake raises one `InputError` that
names file and line, before anything starts.

Gin files may refer only to the names in `public_names`, so a `config.gin`
from somebody else runs no other code. Other modules must be allowed by name.
"""

import dataclasses
import inspect
import re

import gin

from gpt1_keras import bindings as bindings_lib
from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import public_names

# Macros that `gpt1_keras.main` reads itself, so no binding need use them.
_READ_BY_MAIN = ("RUN", "WORKDIR", "EXTEND")


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The `Bindings` after all files and settings, and their hash."""

    bindings: bindings_lib.Bindings
    sha256: str

    @property
    def text(self):
        """All bindings in gin syntax, which `resolve` can read again."""
        return self.bindings.text()

    def function(self):
        """Return the run's function with gin's bindings applied."""
        return gin.query_parameter("%RUN").scoped_configurable_fn

    def name_dials(self, message):
        """Return a message with parameters named as users set them.

        Code writes a parameter as `name` or `Class.name`, in backticks. The
        macro bound to it replaces that name, or, if there is none, the full
        name for --set.
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
        unbound = (
            f"{function}.{last}"
            for function in sorted(bindings.reached())
            if f".{function}.{last}".endswith(f".{name}")
            and last in bindings.signature(function)
        )
        return labels[0] if labels else next(unbound, name)


def resolve(names, settings, workdir=None, allowed=()):
    """Parse, check and finalize gin's global configuration.

    Args:
        names: list of str, gin files. Later files override earlier ones.
        settings: list of str, each "NAME = VALUE". They override the files.
        workdir: str or None. Becomes the macro WORKDIR if given.
        allowed: names of modules that the files may refer to besides the
            public names.
    """
    if not names:
        raise errors.InputError(
            "no --gin FILE given: name a run, such as --gin gin/pretrain.gin"
        )
    found = bindings_lib.read(names, settings, allowed)
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
    """Refuse a run if a required argument is neither bound nor `given`."""
    run = configuration.bindings.run
    bound = {
        name.rpartition(".")[2]
        for name in configuration.bindings.parameters_of(run.function)
    }
    parameters = inspect.signature(configuration.function()).parameters
    for name, parameter in parameters.items():
        is_required = (
            parameter.default is parameter.empty
            and parameter.kind is not parameter.VAR_KEYWORD
        )
        if is_required and name not in bound and name not in given:
            raise errors.InputError(
                f"RUN = {run!r} needs {name}, which is not bound: add"
                f' --set "{run.name}.{name} = VALUE"'
            )


def _check_run(found):
    if "RUN" not in found.macros:
        raise errors.InputError(
            "the gin files bind no RUN: the first --gin must be that of a run,"
            " such as gin/pretrain.gin"
        )
    if found.run is None or found.run.evaluate:
        raise found.error(
            "RUN",
            f"RUN = {found.macros['RUN']!r} is not a function: write RUN ="
            " @module.function",
        )


def _check_functions(found):
    """Refuse a name that does not exist or is not allowed."""
    used = {}
    for name, value in (found.macros | found.parameters).items():
        functions = [r.function for r in bindings_lib.references(value)]
        if name in found.parameters:
            functions.append(bindings_lib.function_of(name))
        used = dict.fromkeys(functions, name) | used
    for function in used:
        if function in public_names.PUBLIC:
            continue
        module, _ = found.module_of(function)
        if module is not None and not found.allows(module):
            raise found.error(
                used[function],
                f"{function} of {module} is not a public name of gpt1_keras;"
                f" if you trust it, add --allow_module {module}",
            )
        try:
            exists = callable(found.find(function))
        except ImportError as error:
            message = errors.missing_module(error) or str(error)
            raise found.error(used[function], message) from None
        if not exists:
            near = checks.did_you_mean(function, public_names.PUBLIC)
            problem = f"there is no {function} to bind{near}"
            raise found.error(used[function], problem)


def _bind_former_dials(found):
    """Bind parameters to former macros that a command still sets."""
    used, reached = found.used_macros(), found.reached()
    for dial, parameters in public_names.FORMER_DIALS.items():
        if dial in found.macros and dial not in used:
            for name in parameters:
                if bindings_lib.function_of(name) in reached:
                    found.parameters[name] = bindings_lib.Macro(dial)


def _check_settings(settings, used):
    macros = used.used_macros(*_READ_BY_MAIN)
    for setting in settings:
        name = public_names.current(setting.split("=")[0].strip())
        if name in macros or name in used.parameters:
            continue
        if "." in name:
            problem = f"{used.run!r} does not use {name}"
        elif name in public_names.OVERLAYS:
            overlay = public_names.OVERLAYS[name]
            problem = f"nothing uses a macro {name} without --gin {overlay}"
        else:
            near = checks.did_you_mean(name, macros)
            near = near or f"; there are {', '.join(sorted(macros))}"
            problem = f"nothing uses a macro {name}{near}"
        raise errors.InputError(f'--set "{setting}": {problem}')


def _check_macros(used):
    for name in sorted(used.used_macros() - used.macros.keys()):
        user = next(
            user
            for user, value in (used.parameters | used.macros).items()
            if name in used.macros_in(value)
        )
        problem = f"macro {name} is not defined: {_how_to_give(name)}"
        raise used.error(user, problem)
    for name, value in sorted((used.macros | used.parameters).items()):
        if value == bindings_lib.REQUIRED:
            raise used.error(
                name, f"{name} must be given: {_how_to_give(name)}"
            )


def _how_to_give(name):
    if name == "WORKDIR":
        return "add --workdir DIR"
    return f'add --set "{name} = VALUE"'


def _check_parameters(used):
    """Refuse unknown parameters and values of the wrong type."""
    for name, bound in list(used.parameters.items()):
        function, _, parameter = name.rpartition("/")[2].rpartition(".")
        try:
            signature = used.signature(function)
        except ImportError as error:
            message = errors.missing_module(error)
            if message is None:
                raise
            raise used.error(name, message) from None
        if parameter not in signature:
            if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
                continue
            near = checks.did_you_mean(parameter, signature)
            problem = f"{function} has no parameter {parameter}{near}"
            raise used.error(name, problem)
        value = used.value(bound)
        if bindings_lib.references(value):
            continue
        label, annotation = used.label(name), signature[parameter].annotation
        try:
            checks.check(parameter, value, annotation)
            if checks.is_path(annotation) and isinstance(value, str):
                _expand(used, name, files.user_path(label, value))
        except errors.InputError as error:
            message = str(error).replace(f"`{parameter}`", label)
            raise used.error(label, message) from None


def _expand(used, name, path):
    """Expand a path that begins with `~`."""
    into, value = used.parameters, used.parameters[name]
    if not used.value(value).startswith("~"):
        return
    while isinstance(value, bindings_lib.Macro):
        into, name = used.macros, value.name
        value = used.macros[name]
    into[name] = str(path)


def _hand_to_gin(used):
    """Let gin inject all values when the run is called."""
    gin.clear_config()
    functions = set(map(bindings_lib.function_of, used.parameters))
    for function in sorted(functions | used.reached()):
        module, _, name = function.rpartition(".")
        gin.register(name, module=module or None)(used.find(function))
    gin.parse_config(used.text(with_imports=False))
    gin.finalize()
