"""Right files made wrong: by the grammar of JSON, and by bytes."""

import json


def value(rng, depth=0):
    """A JSON value by its grammar."""
    kinds = [None, True, 0, -1, 3, 1e308, 10**400, "text", "", "softmax", float("nan")]
    if depth > 2 or rng.random() < 0.6:
        return rng.choice(kinds)
    if rng.random() < 0.5:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice(["a", "blocks", "heads", "tokens", "models", "file"]): value(rng, depth + 1) for _ in range(2)}


def spoilt_json(rng, text):
    """A valid record with some of its values replaced, lost or doubled."""
    record = json.loads(text)
    for _ in range(rng.randint(1, 3)):
        here = record
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            key = rng.choice(keys)
            if not isinstance(here[key], (dict, list)) or not here[key] or rng.random() < 0.3:
                break
            here = here[key]
        if rng.random() < 0.2 and isinstance(here, dict) and len(here) > 1:
            del here[key]
        else:
            here[key] = value(rng)
    return json.dumps(record).encode()


def spoilt(rng, content):
    """Bytes with some changed, cut, repeated or put in."""
    made = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made) or 1)
        how = rng.randrange(6)
        if how == 0:
            made[at : at + 1] = bytes([rng.randrange(256)])
        elif how == 1:
            del made[at:]
        elif how == 2:
            made[at:at] = rng.choice([b"\0" * 8, b"\xff" * 8, b"9" * 20, b"\n", b",", b"}", b"nan", b'"'])
        elif how == 3:
            made[at : at + rng.randint(1, 40)] = b""
        elif how == 4:
            made[at:at] = made[at : at + rng.randint(1, 60)]
        else:
            start = rng.randrange(min(200, len(made)) or 1)  # headers are where the harm is
            made[start : start + 1] = bytes([rng.randrange(256)])
    return bytes(made)
