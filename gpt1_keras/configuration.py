"""Gin files and settings -> one checked, finalized configuration.

Gin lets a misspelt macro pass and a missing value surface late. Here a
setting must be used, macros must be defined and the run's arguments given,
before anything starts.
"""

import dataclasses
import inspect
import re

import gin

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras import gin_reader

# Macros that `gpt1_keras.main` reads itself, so no binding need use them.
_READ_BY_MAIN = ("RUN", "WORKDIR", "EXTEND")


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What gin was told, after all files and settings.

    Attributes:
        text: str. All bindings in gin syntax; parsing it gives the same
            configuration again.
        bindings: `bindings.Bindings` read from `text`.
        sha256: str. Hex hash of what changes data, model or recipe.
        run: gin's reference to the function named by RUN.
    """

    text: str
    bindings: bindings.Bindings
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
    gin_reader.parse(names, settings)
    if workdir is not None:
        gin.bind_parameter("WORKDIR/gin.macro.value", workdir)

    text = gin.config_str()
    resolved = bindings.read(text)
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
                f"{gin_reader.nearest(name, sorted(used))}"
            )


def _check_macros(resolved):
    for name in sorted(resolved.used_macros() - resolved.macros.keys()):
        where = gin_reader.place("%" + re.escape(name) + r"\b")
        raise errors.InputError(
            f"{where}macro {name} is not defined: {_how_to_give(name)}"
        )
    for name, value in resolved.all_values():
        if value == bindings.REQUIRED:
            last = re.escape(name.split(".")[-1])
            where = gin_reader.place(r"^\s*(\S*\.)?" + last + r"\s*=")
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
            f"{gin_reader.place('^RUN ')}RUN = {run!r} is not a function:"
            " write RUN = @module.function"
        )
    return run
