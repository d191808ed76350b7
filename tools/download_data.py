"""Bring the official benchmark files and OpenAI's weights to their places.

python tools/download_data.py --data DIR [NAME ...]
                              [--mirror URL | --from FOLDER]

  --data DIR     the DATA_DIR of the runs; made if need be
  NAME           glue (or one of cola sst2 mrpc qqp stsb mnli qnli rte wnli
                 ax), snli, scitail, race, dprd, wsc, vocabulary, weights
                 (DIR/openai, for tools/convert_openai.py); default: all
  --mirror URL   a folder of http or https with all files under their names
  --from FOLDER  a folder of this machine with them; nothing is fetched
  --list         show the files, their sizes and addresses

What is there is kept. A broken download goes on where it stopped; every file
is checked by its sha256, known beforehand or remembered in
DIR/downloads.json. The variables http_proxy and https_proxy are obeyed.
Licences differ: RACE, MRPC and QQP are for research that is not commercial.
Exit status: 0 done; 2 wrong arguments or a file that cannot be had, a line
for each.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras import checks  # noqa: E402
from gpt1_keras import files  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from tools.downloads import official_files  # noqa: E402  # noqa: E402


def main(arguments):
    """Bring what `arguments` (list of str) name; return the exit status."""
    try:
        values = _parse(arguments)
        chosen = _choose(values.names)
        if values.list:
            _list(chosen)
            return 0
        return _bring(values, chosen)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 1


def _bring(values, chosen):
    """Bring one source after the other; a failure stops only its own."""
    data_dir = pathlib.Path(values.data)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--data {data_dir} cannot be made a folder "
            f"({error.strerror or error}): give another"
        ) from None
    brought = official_files.OfficialFiles(
        data_dir, mirror=values.mirror, folder=values.folder
    )
    status = 0
    with files.exclusive(data_dir, wait=False):
        for name, source in chosen.items():
            place = data_dir / source.folder
            if brought.has(source):
                print(f"{name}: is there, {place}", flush=True)
                continue
            try:
                brought.bring(source)
                print(f"{name}: {place}", flush=True)
            except InputError as error:
                print(f"error: {name}: {error}", file=sys.stderr)
                status = 2
    return status


def _choose(given):
    """Return {name: Source} of the names given."""
    if not given:
        return official_files.SOURCES
    chosen = {}
    known = (
        official_files.SOURCES | official_files.GROUPS | official_files.BY_HAND
    )
    for name in given:
        found = checks.find_name(name, known, "data")
        if name in official_files.BY_HAND:
            raise InputError(f"{name} cannot be fetched: {found}")
        for each in official_files.GROUPS.get(name, (name,)):
            chosen[each] = official_files.SOURCES[each]
    return chosen


def _list(chosen):
    for name, source in chosen.items():
        for file in source.files:
            size = "?" if file.size is None else f"{file.size:,}"
            print(f"{name:<11} {size:>12} bytes  {file.url}")


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise InputError(f"{message} (see --help)")


def _parse(arguments):
    parser = _Parser(allow_abbrev=False, add_help=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--data")
    parser.add_argument("--mirror")
    parser.add_argument("--from", dest="folder", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        sys.exit(0)
    values = parser.parse_args(arguments)
    if values.data is None and not values.list:
        parser.error("--data is missing")
    if values.mirror is not None and values.folder is not None:
        parser.error("give either --mirror or --from")
    if values.folder is not None and not values.folder.is_dir():
        parser.error(f"--from {values.folder} is no folder")
    return values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
