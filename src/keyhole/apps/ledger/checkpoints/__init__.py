"""Claims about models that others trained; each is measured where the model is on the machine."""
