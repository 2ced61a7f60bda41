"""An application of WSGI that imports nothing but a client: for GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1. SPAWN (of the
environment) is how each call gets a greenlet or a thread of its own: gevent, spawn, spawn_n (eventlet), thread.

As a program: wsgi.py SERVER PORT. SERVER: werkzeug, gevent, eventlet.
"""
import http.client
import os
import sys

SPAWN = os.environ.get("SPAWN")


def call(path):
    connection = http.client.HTTPConnection(os.environ["BACK"])
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    assert response.status == 200
    connection.close()


def call_elsewhere(path):
    if SPAWN == "gevent":
        import gevent
        gevent.spawn(call, path).get()
    elif SPAWN == "spawn":
        import eventlet
        eventlet.spawn(call, path).wait()
    elif SPAWN == "spawn_n":
        import eventlet
        pool = eventlet.GreenPool()
        pool.spawn_n(call, path)
        pool.waitall()
    elif SPAWN == "thread":
        import threading
        thread = threading.Thread(target=call, args=(path,))
        thread.start()
        thread.join()
    else:
        call(path)


def application(environment, start_response):
    for number in (0, 1):
        call_elsewhere(f"{environment['PATH_INFO']}/{number}")
    start_response("200 OK", [("Content-Length", "0")])
    return []


if __name__ == "__main__":
    server, port = sys.argv[1], int(sys.argv[2])
    if server == "werkzeug":
        import werkzeug.serving
        werkzeug.serving.run_simple("127.0.0.1", port, application, threaded=True)
    elif server == "gevent":
        import gevent.monkey
        gevent.monkey.patch_all()
        import gevent.pywsgi
        gevent.pywsgi.WSGIServer(("127.0.0.1", port), application, log=None).serve_forever()
    else:
        import eventlet.wsgi
        eventlet.monkey_patch()
        eventlet.wsgi.server(eventlet.listen(("127.0.0.1", port)), application, log_output=False)
