"""The bindings of a configuration as data: macros, hash and differences.

Works on gin text alone, without gin's global state, so that the text in an
older `config.gin` can be compared with the configuration in force.
"""

import dataclasses
import hashlib

from gin import config_parser

from gpt1_keras import errors

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


def read(text):
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
