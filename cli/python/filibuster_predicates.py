"""Fault injection predicates for functional tests. One file, standard library only: copy it.

    from filibuster_predicates import was_fault_injected

    response = requests.get(users_url + "/users/1/bookings")
    if was_fault_injected(service="bookings"):
        assert response.status_code == 503
    else:
        assert response.status_code == 200

Under `filibuster run` the daemon is asked about the running execution; otherwise, where nothing is ever
injected, the answer is False and the test is the plain functional test that it was.
"""
import json
import os
import urllib.error
import urllib.parse
import urllib.request

__all__ = ["was_fault_injected"]

_TIMEOUT = 30  # seconds

# The daemon listens on loopback, so a proxy that the environment names must not be used.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def was_fault_injected(service=None, method=None, path=None, fault=None, grpc=None, arguments=None) -> bool:
    """Was a fault injected in the running execution, into an RPC to `service` with `method` and `path`
    ('*' and '?' match), and is it `fault` ("refused", "status:503", "grpc:UNAVAILABLE", ...)? What is
    None matches anything. `grpc` is a gRPC method as in "shop.CartService/GetCart", or its service
    alone; `method` may be "GetCart". `arguments` are fields of its request, as in {"code": "DAILY"} (the
    service must have server reflection, or the configuration name `descriptors`).

    Raises RuntimeError if the daemon of the execution does not answer, or if it does not understand
    the question: a guess would make the test's verdict worthless.
    """
    url = os.environ.get("FILIBUSTER_URL")
    if not url:
        return False
    asked = {"service": service, "method": method, "path": path, "fault": fault, "grpc": grpc,
             "arguments": json.dumps(arguments) if arguments else None}
    query = urllib.parse.urlencode({name: value for name, value in asked.items() if value is not None})
    request = urllib.request.Request(
        url + "/v1/fault-injected?" + query,
        headers={"Authorization": "Bearer " + os.environ.get("FILIBUSTER_TOKEN", "")})
    try:
        with _opener.open(request, timeout=_TIMEOUT) as response:
            return json.load(response)["injected"] is True
    except urllib.error.HTTPError as error:
        raise RuntimeError("filibuster's daemon refused the question: %s"
                           % error.read().decode("utf-8", "replace")) from None
    except (OSError, ValueError, KeyError) as error:  # URLError is an OSError
        raise RuntimeError("filibuster's daemon did not answer: %s" % error) from error
