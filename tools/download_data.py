"""Download the official benchmark files and OpenAI's weights.

python tools/download_data.py --data DIR [NAME ...]
                              [--mirror URL | --from FOLDER]

  --data DIR     the DATA_DIR of the runs; created if needed
  NAME           glue (or one of cola sst2 mrpc qqp stsb mnli qnli rte wnli
                 ax), snli, scitail, race, dprd, wsc, vocabulary, weights
                 (DIR/openai, for tools/convert_openai.py); default: all
  --mirror URL   an http or https folder with all files under their names
  --from FOLDER  a local folder with these files; nothing is downloaded
  --list         list the files, their sizes and addresses

Existing files are kept. A broken download resumes; the sha256 of every file is
checked against the published one or the one recorded in DIR/downloads.json.
The environment variables http_proxy and https_proxy are used. Licences differ:
RACE, MRPC and QQP are for non-commercial research only. Exit status: 0 done; 2
wrong arguments or an unavailable file, one line for each.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras import checks  # noqa: E402
from gpt1_keras import files  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from tools import command_line  # noqa: E402
from tools.downloads import official_files  # noqa: E402


@command_line.tool
def main(arguments):
    """Bring the files named by `arguments`; return the exit status."""
    values = _parse(arguments)
    chosen = _choose(values.names)
    return _list(chosen) if values.list else _bring(values, chosen)


def _bring(values, chosen):
    """Bring one source after the other; a failure stops only that one."""
    data_dir = files.make_folder(values.data)
    brought = official_files.OfficialFiles(
        data_dir, mirror=values.mirror, folder=values.folder
    )
    status = 0
    with files.exclusive(data_dir):
        for name, source in chosen.items():
            place = data_dir / source.folder
            if brought.has(source):
                print(f"{name}: already there, {place}", flush=True)
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
            raise InputError(f"{name} cannot be downloaded: {found}")
        for each in official_files.GROUPS.get(name, (name,)):
            chosen[each] = official_files.SOURCES[each]
    return chosen


def _list(chosen):
    for name, source in chosen.items():
        for file in source.files:
            size = "?" if file.size is None else f"{file.size:,}"
            print(f"{name:<11} {size:>12} bytes  {file.url}")


def _parse(arguments):
    parser = command_line.Parser(__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--data")
    parser.add_argument("--mirror")
    parser.add_argument("--from")
    parser.add_argument("--list", action="store_true")
    values = parser.parse(arguments)
    if values.data is None and not values.list:
        parser.error("--data is missing")
    folder = values.folder = getattr(values, "from")
    if folder is not None:
        if values.mirror is not None:
            parser.error("give either --mirror or --from")
        values.folder = pathlib.Path(folder)
        if not values.folder.is_dir():
            parser.error(f"--from {folder} is not a folder")
    return values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
