"""Bars of what `tools/benchmark.py` measured, one panel for each section.

Blue is ours, gray what it is compared with, light gray the machine's limit.
"""

from matplotlib import figure as figure_lib

_COLUMNS = 2


def draw(record, path):
    """Draw the figures of all sections.

    Args:
        record: dict as `tools/benchmark.py --json` writes it.
        path: the PNG to write.
    """
    sections = record["sections"]
    rows = -(-len(sections) // _COLUMNS)
    figure = figure_lib.Figure(figsize=(11, 2.2 * rows), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False)
    for panel in panels.flat[len(sections) :]:
        panel.axis("off")
    for panel, (name, found) in zip(panels.flat, sections.items()):
        _bars(panel, found)
        panel.set_title(f"{name} ({found['unit']})", fontsize=10, loc="left")
    figure.suptitle(
        f"{record['size']}, {record['backend']}, {record['processors']} cores "
        f"of {record['processor']}, {record['date']} (blue: ours)",
        fontsize=10,
    )
    # As PNG whatever the ending of the name: the figures took an hour.
    figure.savefig(path, dpi=120, format="png")


def _bars(panel, found):
    """Draw the median of each contender, and its spread as a line."""
    speeds = found.get("per_second") or found["values"]
    speeds = {k: v for k, v in speeds.items() if v is not None}
    spread = found.get("spread", {})
    lengths = []
    for name, value in speeds.items():
        low, high = spread.get(name, (value, value))
        lengths.append((value - low, high - value))
    bars = panel.barh(
        list(speeds),
        speeds.values(),
        xerr=list(zip(*lengths)),
        color=[_color(name) for name in speeds],
    )
    texts = [f"{v:,.0f}" if v > 20 else f"{v:.2f}" for v in speeds.values()]
    panel.bar_label(bars, texts, padding=4, fontsize=8)
    panel.margins(x=0.15)
    panel.invert_yaxis()
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)


def _color(name):
    if name == "products":
        return "lightgray"
    is_other = name.startswith(("transformers", "compiled", "keras_hub"))
    is_other = is_other or name.endswith("released")
    return "tab:gray" if is_other else "tab:blue"
