"""How the desk speaks to its clouds: the REST interfaces of Azure's blobs and queues and of DynamoDB, by requests. A request is
given up after TIMEOUT seconds and tried three times, by urllib3. What must not be done twice has a session that tries once."""
import base64
import datetime
import hashlib
import hmac
import json
import os
import urllib.parse
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

TIMEOUT = 1
TRANSIENT = [500, 502, 503, 504]
# The account that Azurite always has; its key is public.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class CloudError(Exception):
    """An answer that says that something went wrong."""

    def __init__(self, response):
        super().__init__(f"{response.request.method} {response.request.path_url.split('?')[0]}: {response.status_code} {response.text[:200]}")
        self.status = response.status_code


def session(tries):
    made = requests.Session()
    retry = Retry(total=tries - 1, backoff_factor=0.02, status_forcelist=TRANSIENT, allowed_methods=None, raise_on_status=False,
                  respect_retry_after_header=False)
    made.mount("http://", HTTPAdapter(max_retries=retry))
    return made


def checked(response):
    if response.status_code >= 300:
        raise CloudError(response)
    return response


class Azure:
    """One of the storage services, at `url`. Requests are signed with the account's key (SharedKey)."""

    def __init__(self, url, tries=3):
        self.url = url
        self.session = session(tries)

    def send(self, method, path, query=None, body=b"", headers=None):
        query = query or {}
        path = f"/{ACCOUNT}{path}"
        sent = {"x-ms-date": datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT"), "x-ms-version": "2021-12-02",
                "x-ms-client-request-id": str(uuid.uuid4()), "Content-Type": "application/octet-stream", **(headers or {})}
        fields = ["", "", str(len(body)) if body else "", "", sent["Content-Type"], "", "", "", sent.get("If-None-Match", ""), "", ""]
        own = "".join(f"{name}:{value}\n" for name, value in sorted((name.lower(), value) for name, value in sent.items())
                      if name.startswith("x-ms-"))
        resource = f"/{ACCOUNT}{path}" + "".join(f"\n{name}:{value}" for name, value in sorted(query.items()))
        text = "\n".join([method, *fields, own + resource])
        signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        sent["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        return self.session.request(method, f"{self.url}{path}{asked}", data=body, headers=sent, timeout=TIMEOUT)


class Dynamo:
    def __init__(self, tries=3):
        self.session = session(tries)

    def send(self, operation, arguments):
        """The answer, whatever its status."""
        now = datetime.datetime.now(datetime.timezone.utc)
        headers = {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}", "X-Amz-Date": now.strftime("%Y%m%dT%H%M%SZ"),
            "amz-sdk-invocation-id": str(uuid.uuid4()),
            # What stands for DynamoDB here asks for the form of a signature and does not check it.
            "Authorization": f"AWS4-HMAC-SHA256 Credential=desk/{now:%Y%m%d}/eu-central-1/dynamodb/aws4_request, "
                             "SignedHeaders=host;x-amz-date;x-amz-target, Signature=0"}
        return self.session.post(os.environ["DYNAMO_URL"] + "/", data=json.dumps(arguments), headers=headers, timeout=TIMEOUT)
