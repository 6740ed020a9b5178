"""What a trained [CLS] head computes, settled for every input, with an error one can promise."""
