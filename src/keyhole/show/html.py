"""Documents as HTML for notebooks and pages; every text is escaped by the template."""

from functools import cache

from jinja2 import Environment, Template

from keyhole.show.document import Document

TEMPLATE = """
{%- for kind, element in elements -%}
{%- if kind == "Facts" -%}
<table>{% for name, value in element.rows %}<tr><th style="text-align:left">{{ name }}</th>
<td style="text-align:left">{{ value }}</td></tr>{% endfor %}</table>
{%- elif kind == "Grid" -%}
<table><tr>{% for column in element.columns %}<th style="text-align:{{ column.align }}">{{ column.heading }}</th>
{%- endfor %}</tr>{% for row in element.rows %}<tr>{% for entry in row -%}
<td style="text-align:{{ element.columns[loop.index0].align }}
{{- colours[element.columns[loop.index0].tones.get(entry)] }}">{{ entry }}</td>{% endfor %}</tr>{% endfor %}</table>
{%- elif kind == "Bars" -%}
<p>{{ element.title }}{{ " " + element.remark if element.remark }}</p>
<table>{% for name, number, share in element.rows %}<tr><th>{{ name }}</th>
<td>{{ number }}</td><td><meter min="0" max="1" value="{{ share }}"></meter></td></tr>{% endfor %}</table>
{%- elif kind == "Paragraphs" -%}
<table>{% for name, told in element.rows %}<tr><th style="text-align:left;vertical-align:top">{{ name }}</th>
<td style="text-align:left">{% for paragraph in told %}{{ paragraph }}{% if not loop.last %}<br>{% endif %}{% endfor -%}
</td></tr>{% endfor %}</table>
{%- elif kind == "Heading" -%}
<p><b>{{ element.text }}</b></p>
{%- elif kind == "Lines" -%}
{% for line in element.text.splitlines() %}<p>{{ line }}</p>{% endfor %}
{%- endif -%}
{%- endfor -%}
"""

COLOURS = {None: "", "good": ";color:#1a7f4b", "mild": ";color:#8a6100", "bad": ";color:#b3261e"}


@cache
def _template() -> Template:
    return Environment(autoescape=True).from_string(TEMPLATE)


def to_html(document: Document) -> str:
    """The document as HTML without scripts.

    >>> from keyhole.show.document import Lines
    >>> to_html((Lines("a < b"),))
    '<p>a &lt; b</p>'
    """
    elements = [(type(element).__name__, element) for element in document]
    return _template().render(elements=elements, colours=COLOURS)
