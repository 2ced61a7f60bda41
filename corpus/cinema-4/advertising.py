"""Advertising: what every service here does before its own work. Nobody waits for it longer than a second,
and nobody misses it."""
import requests

TIMEOUT = 1.0  # seconds


def ask(site):
    """Asks the web site of a partner whether it is there. The answer is not used."""
    try:
        requests.head(site, timeout=TIMEOUT)
    except requests.exceptions.RequestException:
        pass
