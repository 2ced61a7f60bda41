"""HTTP/2 that is no gRPC: requests of a service that listens with prior knowledge, recorded and sent again as they were."""
import json
import shutil

import pytest

from record.test_record import cases, get, record
from record.test_record_and_verify import verify
from small_apps import config


def configure(project):
    project.write("filibuster.json", config(
        [{"name": "orders", "command": "exec nghttpd --no-tls -d www ${port:orders}"}], [{"name": "none", "command": "false"}]))


@pytest.fixture
def files(project):
    if shutil.which("nghttpd") is None:
        pytest.skip("NOT TESTED HERE: nghttpd is not installed")
    (project.directory / "www").mkdir()
    (project.directory / "www/price").write_text("950 cents")
    configure(project)
    return project


def test_requests_of_http2_are_sent_again_as_they_were(files):
    traffic = [get("/price", "--http2-prior-knowledge"), get("/nothing", "--http2-prior-knowledge")]
    run = record(files, *traffic)
    assert run.exit_code == 0 and "partial" not in run.output, run
    found = {case["request"]["target"]: case for case in cases(files)}
    assert found["/price"]["request"]["protocol"] == "http2" and found["/price"]["answer"]["text"] == "950 cents"
    assert found["/nothing"]["answer"]["status"] == 404
    assert verify(files)[0].exit_code == 0
    (files.directory / "www/price").write_text("951 cents")
    run, rows = verify(files)
    assert run.exit_code == 1 and '/text: \\"951 cents\\", not \\"950 cents\\"' in json.dumps(rows), rows
