"""Applications: each uses the core on behalf of one kind of reader, and the core imports none of them."""
