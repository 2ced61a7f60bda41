"""The example applications of four languages with TLS: the same executions, RPCs and findings as in the clear."""
import os
import re
import shutil
import subprocess

import pytest

import certificates
import pairs
from conftest import CORPUS
from corpus import PUBLISHED_FAULTS, fault_options, in_place

# Timeouts of the JVM are not elapsed: it gets the published faults.
APPLICATIONS = {"cinema-1": [], "audible": fault_options(PUBLISHED_FAULTS), "mailchimp": fault_options(PUBLISHED_FAULTS), "expedia": []}


def key_stores(tls, directory):
    """What Java reads: the certificate with its key, and whom it trusts."""
    subprocess.run(["openssl", "pkcs12", "-export", "-in", tls / "cert.pem", "-inkey", tls / "key.pem", "-passout", "pass:password",
                    "-out", directory / "keys.p12"], check=True, capture_output=True)
    subprocess.run(["keytool", "-importcert", "-noprompt", "-file", tls / "ca.pem", "-alias", "authority", "-storepass", "password",
                    "-keystore", directory / "trust.p12"], check=True, capture_output=True)


def over_tls(config, tls, directory):
    """The configuration with TLS switched on."""
    switched = {**certificates.trusted(tls), "TLS_CERTIFICATE": str(tls / "cert.pem"), "TLS_KEY": str(tls / "key.pem"),
                "TLS_KEYSTORE": str(directory / "keys.p12")}
    for row in [*config["services"], *config["tests"]]:
        row["env"] = {key: value.replace("http://127.0.0.1:", "https://127.0.0.1:") for key, value in row.get("env", {}).items()} | switched
        row["command"] = row["command"].replace(
            "exec java ", f"exec java -Djavax.net.ssl.trustStore={directory}/trust.p12 -Djavax.net.ssl.trustStorePassword=password ")
    for service in config["services"]:
        service["ready"] = "tcp"
        # Flask's own command takes a certificate.
        service["command"] = re.sub(r"(/usr/bin/python3) (\w+)\.py --port (\S+)",
                                    rf"\1 -m flask --app \2 run --host 127.0.0.1 --port \3 --cert {tls}/cert.pem --key {tls}/key.pem",
                                    service["command"])
    return config


def explored(project, config, options):
    """What one exploration shows, for comparison: its calls, how many executions there were, and its findings."""
    project.write("filibuster.json", config)
    run = project.filibuster("run", *options)
    test = run.test
    assert run.exit_code in (0, 1) and test["finished"] and test["skipped"] == [] and test["without_cause"] == [], run
    assert test["dependencies_not_tested"] == [], test["dependencies_not_tested"]
    return {
        "calls": sorted((rpc["caller"], rpc["service"], rpc["method"], rpc["path"], rpc["status"], rpc["cause"] != "none")
                        for rpc in test["reference"]),
        "executed": test["counts"]["executed"],
        "findings": sorted((finding["first"]["verdict"],
                            sorted((fault["caller"], fault["service"], fault["path"], fault["fault"]) for fault in finding["faults"]))
                           for finding in test["findings"]),
    }


# The cheapest one; Python over TLS is in the test below, and the JVM has tests of its own (test_tls_of_the_jvm.py).
@pairs.only("application", ["expedia"])
@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_exploration_over_tls_shows_the_same_as_in_the_clear(project, tls, application):
    if application == "mailchimp":
        if not shutil.which("keytool"):
            pytest.skip("no keytool: mailchimp was not tested over TLS")
        key_stores(tls, project.directory)
    path = CORPUS / application / "filibuster.json"
    options = APPLICATIONS[application]
    clear = explored(project, in_place(path), options)
    assert explored(project, over_tls(in_place(path), tls, project.directory), options) == clear
    assert clear["executed"] > 1


def test_a_bug_is_found_over_tls(project, tls):
    path = CORPUS / "cinema-1" / "planted-bug.json"
    clear = explored(project, in_place(path), [])
    assert explored(project, over_tls(in_place(path), tls, project.directory), []) == clear
    assert clear["findings"] != []
