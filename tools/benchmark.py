"""Compare speed with other libraries that are installed.

python tools/benchmark.py [--section NAME ...] [--size NAME] [--rounds N]
                          [--data DIR] [--json FILE] [--figure FILE]

  --section NAME  {sections}; default: all
  --size NAME     tiny, mini or gpt1, as in gin/model/; default: mini
  --rounds N      how often each contender is timed; default: 3
  --data DIR      benchmark files for finetune and probe; default: generated
  --json FILE     also write the figures to this file
  --figure FILE   also draw them as bars, to a PNG file

Weights are random. The machine may be doing other work, so contenders are timed
in turns: compare the ratios. Each section runs in its own process. A ratio is
the speed of the contender without one, divided by this speed; in `memory`, this
peak, divided by that of our whole batch. Exit status: 0 done; 1 a section
failed; 2 wrong arguments or files (in one line); 3 interrupted.
"""

import datetime
import json
import os
import pathlib
import platform
import signal
import sys

_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from gpt1_keras import files  # noqa: E402
from gpt1_keras.data import encode  # noqa: E402
from tools import command_line  # noqa: E402

# Name -> module with `measure(*, sizes, rounds) -> dict`; those of `_WITH_DATA`
# also take `data`.
SECTIONS = {
    "pretrain": "tools.benchmarks.pretrain",
    "finetune": "tools.benchmarks.finetune",
    "generate": "tools.benchmarks.generate",
    "serve": "tools.benchmarks.serve",
    "tokenize": "tools.benchmarks.tokenize",
    "reading": "tools.benchmarks.reading",
    "rows": "tools.benchmarks.rows",
    "peak": "tools.benchmarks.peak",
    "memory": "tools.benchmarks.memory",
    "startup": "tools.benchmarks.startup",
    "probe": "tools.benchmarks.probe",
    "growth": "tools.benchmarks.growth",
}
_WITH_DATA = ("finetune", "probe")
_SIZES = ("tiny", "mini", "gpt1")
_LIBRARIES = ("tensorflow", "keras", "keras-hub", "jax", "torch")
_LIBRARIES += ("transformers", "numpy")


@command_line.tool
def main(arguments):
    """Measure what `arguments` (list of str) name; return the exit status."""
    values = _parse(arguments)
    from tools.benchmarks import networks
    from tools.benchmarks import process

    record = _machine() | {"size": values.size, "sections": {}}
    sizes = networks.sizes(values.size)
    for name in values.section or SECTIONS:
        options = {"sizes": sizes, "rounds": values.rounds}
        if name in _WITH_DATA and values.data is not None:
            options["data"] = values.data
        # Eager torch is slower after other work in the same process.
        found = process.call(SECTIONS[name], "measure", **options)
        record["sections"][name] = found
        _show(name, values.size, found)
        if values.json is not None:  # now: a later section may fail
            files.write_atomic(values.json, json.dumps(record, indent=1) + "\n")
        if values.figure is not None:
            from tools.benchmarks import figure

            figure.draw(record, values.figure)


def _show(name, size, found):
    first = found.get("first_seconds")
    note = "; first call with compilation" if first else ""
    print(f"{name}, {size} ({found['unit']}{note})")
    ratios, spread = found.get("ratios", {}), found.get("ratio_spread", {})
    speeds = found.get("per_second") or found["values"]
    for contender, speed in speeds.items():
        if speed is None:
            print(f"  {contender:<14} not installed")
            continue
        ratio = ratios.get(contender)
        low, high = spread.get(contender, (None, None))
        print(
            f"  {contender:<14} {speed:>10,.{1 if speed > 20 else 2}f}"
            + (f"  first {first[contender]:7.2f} s" if first else "")
            + (f"  ratio {ratio:6.2f}" if ratio else "")
            + (f" ({low:.2f} to {high:.2f})" if low else ""),
            flush=True,
        )
    shown = ("unit", "per_second", "values", "spread", "first_seconds")
    shown += ("ratios", "ratio_spread")
    rest = {k: v for k, v in found.items() if k not in shown}
    if rest:
        print("  " + ", ".join(f"{k} {v}" for k, v in rest.items()), flush=True)


def _machine():
    """Return what the figures depend on besides the code."""
    import keras

    return {
        "date": datetime.date.today().isoformat(),
        "backend": keras.config.backend(),
        "processor": _processor(),
        "processors": encode.num_processors(),
        "load": os.getloadavg()[0],
        "versions": {n: command_line.version_of(n) for n in _LIBRARIES},
    }


def _processor():
    """Return the processor's name, if possible as Linux gives it."""
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line for line in lines if line.startswith("model name")]
    name = names[0].partition(":")[2].strip() if names else ""
    return name or platform.processor() or platform.machine()


def _parse(arguments):
    parser = command_line.Parser(__doc__.format(sections=", ".join(SECTIONS)))
    parser.add_argument(
        "--section", nargs="+", action="extend", choices=SECTIONS
    )
    parser.add_argument("--size", choices=_SIZES, default="mini")
    parser.add_argument("--rounds", type=command_line.positive, default=3)
    parser.add_argument("--data")
    parser.add_argument("--json")
    parser.add_argument("--figure")
    values = parser.parse(arguments)
    for name in ("json", "figure"):
        if getattr(values, name) is None:
            continue
        path = pathlib.Path(getattr(values, name))
        if path.is_dir() or not path.parent.is_dir():
            parser.error(f"--{name} {path}: give a file in an existing folder")
    return values


if __name__ == "__main__":
    # So that `process.call` ends the section, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))
