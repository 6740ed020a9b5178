"""Growth laws: how m* rises with the context length, fitted, compared and drawn."""
