"""`kept_caller.py [THREADS]`: requests on kept connections, as it is told.

    get PORT      "200 N kept" or "200 N closed", on the connection that requests' pool has; N: how many were opened
    load PORT     begins THREADS threads that send requests without a pause: "loading"
    stop          ends them: "COUNT FAILED-COUNT FIRST-FAILURE"
"""
import sys
import threading

import requests
import urllib3

session = requests.Session()
stopped = threading.Event()
lock = threading.Lock()
count, opened, failures, threads = 0, 0, [], []
connect = urllib3.connection.HTTPConnection.connect


def counted_connect(connection):
    global opened
    opened += 1
    connect(connection)


urllib3.connection.HTTPConnection.connect = counted_connect


def get(port):
    response = session.post(f"http://127.0.0.1:{port}/called", data=b"", timeout=30)
    closed = response.headers.get("Connection", "").lower() == "close"
    return f"{response.status_code} {opened} {'closed' if closed else 'kept'}"


def load(port):
    global count
    mine, done, failed = requests.Session(), 0, []
    while not stopped.is_set():
        try:
            assert mine.post(f"http://127.0.0.1:{port}/load", data=b"body", timeout=30).status_code == 200
            done += 1
        except (requests.RequestException, AssertionError) as error:
            failed.append(repr(error))
    with lock:
        count += done
        failures.extend(failed)


for line in sys.stdin:
    verb, *words = line.split()
    if verb == "get":
        answer = get(int(words[0]))
    elif verb == "load":
        threads = [threading.Thread(target=load, args=(int(words[0]),)) for _ in range(int(sys.argv[1]))]
        for thread in threads:
            thread.start()
        answer = "loading"
    else:
        stopped.set()
        for thread in threads:
            thread.join()
        stopped.clear()
        answer = f"{count} {len(failures)} {failures[:1]}"
    print(answer, flush=True)
