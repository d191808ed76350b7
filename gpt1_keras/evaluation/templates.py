"""The HTML templates beside this file."""

import pathlib

import jinja2


def render(name, **values):
    """Return the text of a template; what it names must be given.

    Args:
        name: str, of the file.
        **values: what stands in it; text is escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name).render(**values)
