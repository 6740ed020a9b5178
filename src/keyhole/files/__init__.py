"""Models, norms and tables on disk: paths and formats, and no mathematics."""
