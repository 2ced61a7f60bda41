"""The built-in kinds of objects once more, for make.py: plain Python that shares nothing with daemon/property.

An object is a class with `initial`, `call(rng, value)`, which makes up a call, and `apply(state, call)`, which says
(state behind it, answer) as an atomic object gives it. States are values that can be compared and hashed.
"""


def frozen(state):
    return tuple(sorted(state.items()))


class Register:
    name, initial, keys = "register", None, None

    def start(self):
        return self.initial

    def call(self, rng, value):
        return ("read", None) if rng.random() < 0.5 else ("write", value)

    def apply(self, state, call):
        f, asked = call[:2]
        if f == "read":
            return state, state
        if f == "write":
            return asked, None
        return (asked[1], True) if state == asked[0] else (state, False)


class CasRegister(Register):
    name, initial = "cas-register", 0

    def call(self, rng, value):
        if rng.random() < 0.4:
            return ("cas", [rng.randrange(3), rng.randrange(3)])
        return ("read", None) if rng.random() < 0.5 else ("write", rng.randrange(3))


class Kv:
    name, initial, keys = "kv", {"b": "0"}, ("a", "b")

    def start(self):
        return frozen(self.initial)

    def call(self, rng, value):
        f = rng.choice(["get", "get", "put", "append", "delete", "cas"])
        asked = {"get": None, "delete": None, "cas": [rng.choice(["0", "1"]), "1"]}.get(f, str(rng.randrange(2)))
        return (f, asked, rng.choice(self.keys))

    def apply(self, state, call):
        f, asked, key = call
        cells = dict(state)
        before = cells.get(key)
        if f == "get":
            return state, before
        if f == "cas":
            if before != asked[0]:
                return state, False
            cells[key] = asked[1]
            return frozen(cells), True
        cells.pop(key, None)
        if f != "delete":
            cells[key] = asked if f == "put" else (before or "") + asked
        return frozen(cells), None


class MultiRegister:
    name, initial, keys = "multi-register", {"x": 0, "y": 0}, None

    def start(self):
        return frozen(self.initial)

    def call(self, rng, value):
        parts = []
        for _ in range(1 + rng.randrange(2)):
            key = rng.choice("xy")
            parts.append(["read", key, None] if rng.random() < 0.5 else ["write", key, rng.randrange(3)])
        return ("txn", parts)

    def apply(self, state, call):
        cells, answer = dict(state), []
        for f, key, value in call[1]:
            if f == "write":
                cells[key] = value
            answer.append([f, key, value if f == "write" else cells.get(key)])
        return frozen(cells), answer


class Queue:
    name, initial, keys = "queue", None, None

    def start(self):
        return ()

    def call(self, rng, value):
        return ("enqueue", value) if rng.random() < 0.55 else ("dequeue", None)

    def apply(self, state, call):
        if call[0] == "enqueue":
            return (*state, call[1]), None
        return (state[1:], state[0]) if state else (state, None)


class Set:
    name, initial, keys = "set", None, None

    def start(self):
        return ()

    def call(self, rng, value):
        f = rng.choice(["add", "add", "remove", "contains", "read"])
        return (f, None if f == "read" else rng.randrange(3))

    def apply(self, state, call):
        f, asked = call
        if f == "read":
            return state, list(state)
        if f == "contains":
            return state, asked in state
        rest = set(state) - {asked}
        return tuple(sorted(rest | {asked} if f == "add" else rest)), None


class List:
    name, initial, keys = "list", None, None

    def start(self):
        return ()

    def call(self, rng, value):
        return ("append", value) if rng.random() < 0.5 else ("read", None)

    def apply(self, state, call):
        if call[0] == "append":
            return (*state, call[1]), None
        return state, list(state)


class Bank:
    name, initial, keys = "bank", {"a": 5, "b": 2}, None

    def start(self):
        return frozen(self.initial)

    def call(self, rng, value):
        if rng.random() < 0.4:
            return ("read", None)
        payer, payee = rng.sample("ab", 2)
        return ("transfer", {"from": payer, "to": payee, "amount": 1 + rng.randrange(4)})

    def apply(self, state, call):
        balances = dict(state)
        if call[0] == "read":
            return state, balances
        asked = call[1]
        if balances[asked["from"]] < asked["amount"]:
            return state, False
        balances[asked["from"]] -= asked["amount"]
        balances[asked["to"]] += asked["amount"]
        return frozen(balances), True


class Counter:
    name, initial, keys = "counter", 10, None

    def start(self):
        return self.initial

    def call(self, rng, value):
        f = rng.choice(["add", "add_and_get", "read"])
        return (f, None if f == "read" else rng.choice([None, 1, 2, -1]))

    def apply(self, state, call):
        f, asked = call
        if f == "read":
            return state, state
        behind = state + (1 if asked is None else asked)
        return behind, behind if f == "add_and_get" else None


class Lock:
    """A call that cannot happen waits: apply says so by None."""
    name, initial, keys = "lock", None, None

    def start(self):
        return "free"

    def call(self, rng, value):
        return (rng.choice(["acquire", "release"]), None)

    def apply(self, state, call):
        needed, behind = ("free", "held") if call[0] == "acquire" else ("held", "free")
        return (behind, None) if state == needed else None


OBJECTS = [Register(), CasRegister(), Kv(), MultiRegister(), Queue(), Set(), List(), Bank(), Counter(), Lock()]
