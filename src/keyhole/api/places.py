"""Where an answer may be written, looked at before it is worked out."""

from keyhole.files.atomic import require_file_place as require_file_place
from keyhole.files.atomic import require_folder_place as require_folder_place
