"""The live lab: the public functions behind pages in a browser, on this machine alone."""

from keyhole.serve.app import make_app as make_app
from keyhole.serve.run import serve as serve
from keyhole.serve.settings import Serving as Serving
