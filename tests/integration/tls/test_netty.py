"""Netty's clients look at each record before they give it to an engine of the JDK. What they make of faults over TLS is what they make
of them in the clear."""
import pytest

import certificates
import pairs
from conftest import BUILD, PYTHON
from documents import events
from small_apps import APPS, config, printed, printing

SMALL, LARGE = 100, 200_000
FAULTS = ["status:503", "reset", "timeout", "status:503:after", "reset:after", "timeout:after", "latency:50ms", "slow-body:50ms",
          "partial-message", "empty-message", "corrupt-message", "content-length:+10", "content-length:-10"]


def command(transport):
    classpath = (BUILD / "tests/netty/classpath").read_text().strip()
    scheme = "https" if transport == "tls" else "http"
    # Where no interface has a hardware address, Netty would say so, with the time.
    return f"java -XX:TieredStopAtLevel=1 -Dio.netty.machineId=02:00:00:00:00:01 -cp '{classpath}' NettyAsk {scheme}://localhost:${{port:body}} /{SMALL} /{LARGE} /{SMALL}"


def outcomes(project, tls, transport, framing):
    """{fault of the second of three requests: what the client prints}"""
    serves = f"tls={tls}" if transport == "tls" else ""
    project.write("filibuster.json", config(
        [{"name": "body", "command": f"exec {PYTHON} {APPS}/body.py ${{port:body}} {framing} {serves}"}],
        [{"name": "ask", "command": printing(command(transport)), "env": certificates.trusted(tls)}], default_faults=False,
        index={"stack": False}, bounds={"max_faults": 1, "reference_executions": 1}, faults=[{"on": {"caller": "test", "path": f"/{LARGE}"}, "inject": FAULTS}]))
    run = project.filibuster("run", "--json")
    executions = [event for event in events(run.output) if event["type"] == "execution"]
    assert "plan not met" not in run.output, run
    faults = ["", *(event["faults"][0].split(": ")[-1] for event in executions)]
    told = printed(run)
    (project.directory / "seen").unlink()
    assert len(told) == len(faults), (told, faults)
    return dict(zip(faults, told, strict=True))


# One client, whose faults over TLS are in test_tls_servers.py, too: what it prints takes a minute.
@pytest.mark.whole
@pytest.mark.parametrize("framing", ["", "chunked"])
def test_what_its_client_prints_is_the_same_in_the_clear_and_over_tls(project, tls, framing):
    clear, encrypted = (outcomes(project, tls, transport, framing) for transport in ("clear", "tls"))
    assert sorted(clear) == sorted(["", *FAULTS])
    print(clear)
    assert encrypted == clear
    assert f"/{LARGE} 503 " in encrypted["status:503"] and f"/{LARGE} 503 " in encrypted["status:503:after"], encrypted
    assert not any("NotSslRecord" in text for text in encrypted.values())
