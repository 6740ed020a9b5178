"""Documents as HTML for notebooks and pages; every text is escaped by the template."""

from functools import cache

from jinja2 import Environment, Template

from keyhole.show.document import Bars, Document, Facts, Gap, Grid, Lines

TEMPLATE = """
{%- for kind, element in elements -%}
{%- if kind == "Facts" -%}
<table>{% for name, value in element.rows %}<tr><th style="text-align:left">{{ name }}</th>
<td style="text-align:left">{{ value }}</td></tr>{% endfor %}</table>
{%- elif kind == "Grid" -%}
<table><tr>{% for column in element.columns %}<th style="text-align:{{ column.align }}">{{ column.heading }}</th>
{%- endfor %}</tr>{% for row in element.rows %}<tr>{% for entry in row -%}
<td style="text-align:{{ element.columns[loop.index0].align }}">{{ entry }}</td>{% endfor %}</tr>{% endfor %}</table>
{%- elif kind == "Bars" -%}
<p>{{ element.title }}</p><table>{% for name, number, share in element.rows %}<tr><th>{{ name }}</th>
<td>{{ number }}</td><td><meter min="0" max="1" value="{{ share }}"></meter></td></tr>{% endfor %}</table>
{%- elif kind == "Lines" -%}
{% for line in element.text.splitlines() %}<p>{{ line }}</p>{% endfor %}
{%- endif -%}
{%- endfor -%}
"""


@cache
def _template() -> Template:
    return Environment(autoescape=True).from_string(TEMPLATE)


def to_html(document: Document) -> str:
    """The document as HTML without scripts.

    >>> to_html((Lines("a < b"),))
    '<p>a &lt; b</p>'
    """
    known = (Facts, Grid, Bars, Lines, Gap)
    return _template().render(elements=[(type(each).__name__, each) for each in document if isinstance(each, known)])
