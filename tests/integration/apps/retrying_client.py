"""retrying_client.py URL METHOD [ID]: requests with urllib3's Retry, five attempts without a wait between them. Prints the
status, or the exception. Its waits are elapsed, so their length costs nothing. With ID, each call carries a request id."""
import os
import sys
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

url, method, *with_id = sys.argv[1:]
headers = {"x-run": os.environ["FILIBUSTER_EXECUTION"]}
if with_id:
    headers["x-ms-client-request-id"] = str(uuid.uuid4())
session = requests.Session()
session.mount("http://", HTTPAdapter(max_retries=Retry(total=4, backoff_factor=0, status_forcelist=[503], allowed_methods=None,
                                                       raise_on_status=False)))
try:
    answer = session.request(method, url, data=b"1" if method != "GET" else None, headers=headers, timeout=30)
    print(answer.status_code)
except requests.RequestException as error:
    print(type(error).__name__)
