"""What a labelled sample allows to promise: error bounds, functions that fit it, tail bounds."""
