"""What the tests themselves rest on (conftest.py)."""
import multiprocessing
import socket

import conftest
from conftest import PORTS, free_port, without_blanks


def choose(number):
    return [free_port() for _ in range(number)]


def test_programs_that_choose_ports_at_once_choose_different_ones():
    with multiprocessing.get_context("fork").Pool(4) as pool:
        ports = [port for some in pool.map(choose, [25] * 8, chunksize=1) for port in some]
    assert len(set(ports)) == len(ports) and set(ports) <= set(PORTS), ports


def test_a_port_that_is_used_is_not_chosen(tmp_path, monkeypatch):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        used = holder.getsockname()[1]
        monkeypatch.setattr(conftest, "PORTS", range(used, used + 10))
        monkeypatch.setattr(conftest, "CHOSEN", tmp_path / "chosen")
        assert used not in {free_port() for _ in range(20)}


def test_a_path_with_blanks_is_reached_without_them(tmp_path):
    folder = tmp_path / "two words: and a colon"
    folder.mkdir()
    (folder / "file").write_text("here")
    link = without_blanks(folder)
    assert not set(" :") & set(str(link)) and (link / "file").read_text() == "here"
    assert without_blanks(tmp_path) == tmp_path
