"""A test that calls a service in rounds: of each kind, so many requests at the same time.

rounds.py URL KINDS NUMBERS     GETs URL/<kind>/<kind>-<number>-<i>, i < number; prints what each answered
"""
import sys
import threading
import urllib.error
import urllib.request

base, kinds, numbers = sys.argv[1].rstrip("/"), sys.argv[2].split(","), [int(n) for n in sys.argv[3].split(",")]


def get(path, barrier, answers):
    barrier.wait()
    try:
        with urllib.request.urlopen(base + path, timeout=30) as response:
            response.read()
            answers[path] = response.status
    except urllib.error.HTTPError as error:
        answers[path] = error.code


for kind in kinds:
    for number in numbers:
        barrier, answers = threading.Barrier(number), {}
        tail = "/2" if kind == "self" else ""
        threads = [threading.Thread(target=get, args=(f"/{kind}/{kind}-{number}-{i}{tail}", barrier, answers))
                   for i in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == number, answers
        for path in sorted(answers):
            print(answers[path], path)
