"""The functional test: the shop answers."""
import sys
import urllib.request

with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/", timeout=10) as page:
    assert page.read()
