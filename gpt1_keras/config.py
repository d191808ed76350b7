"""Resolve gin files and `--set` into one checked configuration.

`resolve` reads files and settings, checks them, and passes what the run uses to
gin. A mistake raises an `InputError` that names file and line, before anything
starts. Gin files may refer only to `public_names`, so a stranger's `config.gin`
runs no other code; other modules must be allowed by name.
"""

import inspect
import re

import gin

from gpt1_keras import bindings as bindings_lib
from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import public_names
from gpt1_keras import workdir as workdirs

# Macros that `gpt1_keras.main` reads itself, so no binding need use them.
_READ_BY_MAIN = ("RUN", "WORKDIR", "EXTEND")


def name_dials(bindings, message):
    """Return a message with parameters named as users set them.

    A `name` or `Class.name` in backticks becomes the macro that is bound to it
    or, without one, the full name for --set.
    """
    labels = {
        f"{function}.{name}": f"{function}.{name}"
        for function in bindings.reached()
        for name in bindings.signature(function)
    } | {name: bindings.label(name) for name in bindings.parameters}

    def dial(found):
        """Prefer the macro of the same name, then a parameter that is bound."""
        same = found[1].rpartition(".")[2].upper()
        meant = [
            (label != same, full not in bindings.parameters, label)
            for full, label in labels.items()
            if f".{full}".endswith(f".{found[1]}")
        ]
        return min(meant)[2] if meant else found[1]

    return re.sub(r"`([\w.]+)`", dial, message)


def resolve(names, settings, workdir=None, allowed=()):
    """Finalize gin's global configuration; return its checked `Bindings`.

    Args:
        names: list of str, gin files. Later files override earlier ones.
        settings: list of str, each "NAME = VALUE". They override the files.
        workdir: str or None. If given, the value of the macro WORKDIR.
        allowed: names of modules that the files may use; see `Bindings`.
    """
    found = bindings_lib.read(names, settings, allowed)
    if workdir is not None:
        found.macros["WORKDIR"] = workdir
    check_run(found)
    _check_functions(found)
    used = found.without_unused(*_READ_BY_MAIN)
    _check_files(names, used)
    _check_settings(settings, used)
    _check_macros(used)
    _check_parameters(used)
    _settle_dtype(used)
    _hand_to_gin(used)
    return used


def check_run(found):
    """Refuse gin files without a run, and a wrong EXTEND."""
    if "RUN" not in found.macros:
        raise errors.InputError(
            "no RUN given: name a run first, such as --gin gin/pretrain.gin"
        )
    if found.run is None or found.run.evaluate:
        problem = f"RUN = {found.macros['RUN']!r} is not a function"
        raise found.error("RUN", f"{problem}: write RUN = @module.function")
    if not isinstance(found.macros.get("EXTEND", False), bool):
        raise found.error("EXTEND", "EXTEND must be True or False")


def _check_functions(found):
    """Refuse a name that does not exist or is not allowed."""
    for function, name in found.functions().items():
        if function in public_names.PUBLIC:
            continue
        module = found.imports.get(function.rpartition(".")[0])
        if module is not None and not found.allows(module):
            raise found.error(
                name,
                f"{function} of {module} is not a public name of gpt1_keras;"
                f" if you trust it, add --allow_module {module}",
            )
        try:
            exists = callable(found.find(function))
        except ImportError as error:
            message = errors.missing_module(error) or str(error)
            raise found.error(name, message) from None
        if not exists:
            near = checks.did_you_mean(function, public_names.PUBLIC)
            module = function.rpartition(".")[0]
            if module not in found.imports and found.allows(module):
                near = f": write `import {module}` in a gin file"
            problem = f"there is no {function} to bind{near}"
            raise found.error(name, problem)


def _check_files(names, used):
    """Refuse an overlay that names another run or that the run does not use."""
    taken = used.used_macros() | used.parameters.keys()
    for name in names[1:]:
        own = bindings_lib.read([name], [], used.allowed).bound.keys()
        if "RUN" in own:
            raise errors.InputError(
                f"--gin {name} is a run of its own: give it as the first --gin"
            )
        # STRATEGY describes the machine, whatever runs there.
        if own and not own & taken and "STRATEGY" not in own:
            problem = f"{used.run!r} uses none of its settings: leave it out"
            raise errors.InputError(f"--gin {name}: {problem}")


def _check_settings(settings, used):
    macros = used.used_macros(*_READ_BY_MAIN)
    for setting in settings:
        name = public_names.current(setting.split("=")[0].strip())
        if name in macros or name in used.parameters:
            continue
        if "." in name:
            problem = f"{used.run!r} does not use {name}"
        elif name == "ZERO_SHOT_TASKS":
            overlay = "gin/zero_shot/while_pretraining.gin"
            problem = f"this run has no setting {name} without --gin {overlay}"
        else:
            advice = checks.did_you_mean(name, macros)
            advice = advice or f"; it has {', '.join(sorted(macros))}"
            problem = f"this run has no setting {name}{advice}"
        raise errors.InputError(f'--set "{setting}": {problem}')


def _check_macros(used):
    # Macros first: a parameter may lack what its macro mentions.
    for user, value in (used.macros | used.parameters).items():
        if value == bindings_lib.REQUIRED:
            problem = f'{user} must be given: add --set "{user} = VALUE"'
            raise used.error(user, problem)
        for name in sorted(used.macros_in(value) - used.macros.keys()):
            remedy = f'add --set "{name} = VALUE"'
            raise used.error(user, f"macro {name} is not defined: {remedy}")


def _check_parameters(used):
    """Refuse unknown, missing and wrong values of parameters."""
    values = used.value([*used.parameters.values()])
    references = bindings_lib.references(values)
    called = {one.function for one in references if one.evaluate}
    called.add(used.run.function)
    for name in reversed(list(used.parameters)):  # a new one comes last
        _check_parameter(used, name, called)
    for function in sorted(called):
        _check_complete(used, function)


def _check_complete(used, function, given=()):
    """Refuse a function with a parameter that is neither bound nor `given`."""
    for last, parameter in used.signature(function).items():
        name = f"{function}.{last}"
        is_required = (
            parameter.default is parameter.empty
            and parameter.kind is not parameter.VAR_KEYWORD
        )
        is_given = last in (*bindings_lib.FROM_MAIN, *given)
        if is_required and not is_given and not used.values_of(name):
            problem = f"{function} needs {last}, which is not bound"
            remedy = f'add --set "{name} = VALUE"'
            raise errors.InputError(f"{problem}: {remedy}")


def _check_parameter(used, name, called):
    """Check the value of a parameter; `called` are functions that gin calls."""
    function, parameter = bindings_lib.split(name)
    signature = used.signature(function)
    if parameter not in signature:
        if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
            return
        near = checks.did_you_mean(parameter, signature)
        problem = f"{function} has no parameter {parameter}{near}"
        raise used.error(name, problem)
    value = used.value(used.parameters[name])
    label, annotation = used.label(name), signature[parameter].annotation
    is_object = inspect.isclass(annotation)
    if value is None and is_object and function not in called:
        return  # Its caller gives it.
    is_public = function in public_names.PUBLIC
    if annotation is inspect.Parameter.empty and is_public:
        raise used.error(name, f"{name} is set by the program: leave it out")
    try:
        made = _stand_in(used, value)
        checks.check(parameter, made, annotation, shown=value)
        for mark in checks.marks(annotation):
            if mark.is_path and isinstance(value, str):
                path = files.user_path(label, value)
                if value.startswith("~"):
                    _rebind(used, name, str(path))
            if mark.arguments and isinstance(value, bindings_lib.Reference):
                _check_function(used, parameter, value, mark.arguments)
    except errors.InputError as error:
        message = str(error).replace(f"`{parameter}`", label)
        raise used.error(label, message) from None


def _check_function(used, parameter, reference, given):
    """Refuse one of our functions that takes other arguments than it gets."""
    name = reference.function
    if name not in public_names.PUBLIC:
        if not reference.evaluate:  # Else what it returns is called.
            _check_own_function(used, parameter, reference, given)
        return
    bound = [v for a in given for v in used.values_of(f"{name}.{a}")]
    is_free = all(value is None for value in bound)
    if not is_free or not used.signature(name).keys() >= set(given):
        problem = f"`{parameter}` is {reference!r}: give a function of"
        raise errors.InputError(f"{problem} {', '.join(given)}")
    _check_complete(used, name, given)


def _check_own_function(used, parameter, reference, given):
    """Refuse a function of the user that cannot take the arguments `given`."""
    bound = used.parameters_of(reference.function)
    names = {*given, *(bindings_lib.split(name)[1] for name in bound)}
    try:
        inspect.signature(used.find(reference.function)).bind_partial(
            **dict.fromkeys(names)
        )
    except TypeError as error:
        problem = f"`{parameter}` is {reference!r}: {error}: give a function of"
        raise errors.InputError(f"{problem} {', '.join(given)}") from None
    except ValueError:  # It has no signature, being written in C.
        pass


def _stand_in(used, value):
    """Return a value with an object of the right type for each reference."""
    if isinstance(value, list | tuple):
        return type(value)(_stand_in(used, one) for one in value)
    if not isinstance(value, bindings_lib.Reference):
        return value
    found = used.find(value.function)
    if not value.evaluate:
        return found
    is_plain = inspect.isclass(found) and found.__new__ is object.__new__
    return object.__new__(found) if is_plain else checks.UNKNOWN


def _settle_dtype(used):
    """Replace the dtype 'auto'; a run that resumes keeps its own."""
    for name, bound in list(used.parameters.items()):
        if name.endswith(".dtype") and used.value(bound) == "auto":
            from gpt1_keras import precision  # imports the backend

            try:
                path = files.user_path("--workdir", used.macros.get("WORKDIR"))
                own, _ = workdirs.read(path, used.allowed)
                kept = own.values_of(name.rpartition("/")[2])
            except (OSError, ValueError):  # no run there, or no path
                kept = []
            _rebind(used, name, kept[0] if kept else precision.fastest())


def _rebind(used, name, value):
    """Set a parameter, or the macro bound to it, to a value."""
    into, bound = used.parameters, used.parameters[name]
    while isinstance(bound, bindings_lib.Macro):
        into, name = used.macros, bound.name
        bound = used.macros[name]
    into[name] = value


def _hand_to_gin(used):
    """Let gin inject all values when the run is called."""
    gin.clear_config()
    for function in sorted(used.functions()):
        module, _, name = function.rpartition(".")
        gin.register(name, module=module or None)(used.find(function))
    gin.parse_config(used.text(with_imports=False))
    gin.finalize()
