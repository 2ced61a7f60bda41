"""A model and a client with each mistake that people make: things.py model, or things.py client."""
import subprocess
import sys

from filibuster_property import (ANY, Client, Fail, Impossible, Info, Model, array, command, constant, integer, is_symbol, one_of, record,
                                 result_of, run, text)


class Things(Model):
    reads = ("look",)

    def init(self):
        print("a model prints")
        subprocess.run(["echo", "so does its child"], check=True)
        return {"things": []}

    def commands(self, state):
        if state == "none":
            return None
        return [command("add", text(max=3), weight=2), command("look", result_of("add")), command("pair", array(integer(0, 9), one_of("a", None))),
                command("put", record(key=text(), value=constant({"int": "eger"}))), command("clear")]

    def pre(self, state, f, value):
        return f != "look" or is_symbol(value)

    def step(self, state, f, value, answer):
        if f == "add":
            state["things"].append(value)
            return state, len(state["things"]) - 1
        if f == "look" and answer == "nothing":
            raise Impossible("there are things")
        return {"look": lambda: (state, ANY), "echo": lambda: (state, answer), "null": lambda: (state, None), "alone": lambda: state,
                "number": lambda: ({7: "seven"}, ANY), "bytes": lambda: (state, b"bytes"), "nan": lambda: (state, float("nan")),
                "raise": lambda: state["absent"]}[f]()

    def classify(self, state, f, value, answer):
        return {"one": "label", "two": ["a", 2]}.get(f)


class Thing(Client):
    resets = 0

    def add(self, value):
        sys.stdout.write(f"adds {value}\n")
        return [value, sys.stdin.read()]

    def who(self, value, process):
        return process

    def refuse(self, value):
        raise Fail("503")

    def lose(self, value):
        raise Info(500)

    def crash(self, value):
        return {}["absent"]

    def ask(self, value):
        return b"bytes"

    def forget(self, value):
        pass

    def nothing(self):
        return None

    def _secret(self, value):
        return "secret"

    def reset(self):
        self.resets += 1
        if self.resets == 2:
            raise Fail("cannot")


run(Things() if sys.argv[1] == "model" else Thing())
