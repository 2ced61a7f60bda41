"""An application of FastAPI, whose plain functions run in the framework's threads: for GET /NAME it calls BACK/NAME/0 and then
BACK/NAME/1."""
import fastapi

import wsgi

application = fastapi.FastAPI()


@application.get("/{name}")
def answer(name: str):
    for number in (0, 1):
        wsgi.call(f"/{name}/{number}")
    return fastapi.Response()
