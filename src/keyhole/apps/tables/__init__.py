"""Tables of one's own: rows with a target column, how accuracy grows with the rows learned from, and what it takes."""
