"""The live lab: the public functions behind pages in a browser, on this machine alone."""
