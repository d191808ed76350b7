"""Reads gin files and settings; every mistake is one line.

Gin itself takes an include from the current directory before any other and
reports mistakes over many lines. Here a file is looked for in the repository
(or the installed package) first, and what is wrong with a file or a setting
is an `InputError` with file, line and remedy.
"""

import contextlib
import difflib
import io
import pathlib
import re
import tokenize

import gin

from gpt1_keras import errors

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
