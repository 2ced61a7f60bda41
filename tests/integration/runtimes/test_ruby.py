"""Ruby: where a call is made. Which request causes it: test_matrix.py."""
import pathlib
import shutil

import pytest

import matrix

SOURCE = (pathlib.Path(matrix.HERE) / "server.rb").read_text().splitlines()
pytestmark = pytest.mark.skipif(shutil.which("ruby") is None, reason="no ruby")


def line_of(text):
    (line,) = [number for number, source in enumerate(SOURCE, 1) if text in source]
    return line


def test_a_call_shows_the_lines_of_the_program(project):
    shares = matrix.run(project, matrix.ruby_server("ruby-threads", "net-http"), 2)
    assert shares.wrong == [] and shares.none == []
    expected = [f"server.rb:{line_of('response = http.request')} (get)", f"server.rb:{line_of('Net::HTTP.start')} (get)",
                f"server.rb:{line_of('then get(url, kind)')} (call)", f"server.rb:{line_of('call(url, KINDS')} (serve)",
                f"server.rb:{line_of('urls.each_with_index')} (serve)"]
    for rpc in shares.run.test["reference"]:
        if rpc["caller"] == "web" and not rpc["path"].startswith("/background"):
            frames = [frame.split("/")[-1] for frame in rpc["stack"]]
            assert frames[:5] == expected, frames
