"""Starting the server: where it listens, and what it refuses."""

import pytest

from keyhole.apps.live.run import address_of, open_socket, require_safe
from keyhole.apps.live.settings import Serving
from keyhole.errors import ArgumentError


def test_other_machines_need_a_password(tmp_path):
    """A host beyond the loopback is refused without a password, and with a short one."""
    with pytest.raises(ArgumentError, match="lets other machines in"):
        require_safe(Serving(tmp_path, tmp_path, host="192.0.2.1"))
    with pytest.raises(ArgumentError, match="at least 16"):
        require_safe(Serving(tmp_path, tmp_path, host="192.0.2.1", password="x" * 15))
    require_safe(Serving(tmp_path, tmp_path, host="192.0.2.1", password="x" * 16))
    require_safe(Serving(tmp_path, tmp_path))


def test_a_port_in_use_is_a_sentence():
    """A second server on one port is told so."""
    with open_socket("127.0.0.1", 0) as first, pytest.raises(ArgumentError, match="cannot be used"):
        open_socket("127.0.0.1", first.getsockname()[1])


def test_an_address_of_the_newer_kind_is_bracketed():
    """An IPv6 address stands in brackets."""
    assert address_of("::1", 80, "t") == "http://[::1]:80/?token=t"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104  (refused)
def test_every_address_at_once_is_refused(tmp_path, host):
    """A host that stands for all addresses names none that a browser could ask for."""
    with pytest.raises(ArgumentError, match="every address"):
        require_safe(Serving(tmp_path, tmp_path, host=host, password="x" * 16))
