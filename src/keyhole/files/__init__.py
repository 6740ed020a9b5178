"""Files on disk: results are written whole, and records are spelled as JSON."""

from keyhole.files.atomic import write_file as write_file
from keyhole.files.record import to_json as to_json
