"""A store of keys: a `get` sees what the last `put` of this key wrote, as if there were one copy only."""
from filibuster_property import Model, command, integer, one_of, record, run

KEYS = one_of("a", "b")


class Store(Model):
    reads = ["get"]

    def init(self):
        return {}

    def commands(self, state):
        return [command("put", record(key=KEYS, value=integer(0, 99))), command("get", KEYS, weight=2)]

    def step(self, state, f, value, answer):
        if f == "put":
            return {**state, value["key"]: value["value"]}, None
        return state, state.get(value)

    def classify(self, state, f, value, answer):
        return [f"{f} of a key that is {'there' if (value['key'] if f == 'put' else value) in state else 'not there'}"]


if __name__ == "__main__":
    run(Store())
