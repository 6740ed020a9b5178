"""What a model is before anything is proved: its scope, its exact tables, and the function read off them."""
