"""One question of the field per file: rooms and verbs in, a Finding out; together the claims ledger."""
