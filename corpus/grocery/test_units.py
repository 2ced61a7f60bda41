"""Runs the unit tests of the services, which are Go's own (*_test.go), a folder each."""
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STUBS = HERE.parents[1] / "build" / "go"  # made by `make corpus`


@pytest.mark.parametrize("service", ["shop", "pricing", "stock"])
def test_the_unit_tests_pass(service):
    go = shutil.which("go")
    if go is None or not STUBS.exists():
        pytest.skip("the services were not tested: apt-get install golang-go golang-google-grpc-dev, then make corpus")
    run = subprocess.run([go, "test", *sorted(map(str, (HERE / service).glob("*.go")))], capture_output=True, text=True,
                         env={**os.environ, "GO111MODULE": "off", "GOPATH": f"{STUBS}:/usr/share/gocode", "GOFLAGS": "",
                              "CGO_ENABLED": "0", "GOCACHE": str(STUBS.parent / "go-cache")})
    assert run.returncode == 0, run.stdout + run.stderr
