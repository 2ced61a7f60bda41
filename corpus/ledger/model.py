"""A bank: money moves from one account to another if there is enough, and never comes or goes."""
from filibuster_property import Model, command, integer, one_of, record, run

ACCOUNT = one_of("A", "B", "C")


class Ledger(Model):
    reads = ["balance"]

    def init(self):
        return {"A": 100, "B": 100, "C": 100}

    def commands(self, state):
        transfer = record(**{"from": ACCOUNT, "to": ACCOUNT, "amount": integer(1, 60)})
        return [command("transfer", transfer, weight=3), command("balance", ACCOUNT, weight=2)]

    def pre(self, state, f, value):
        return f != "transfer" or value["from"] != value["to"]

    def step(self, state, f, value, answer):
        if f == "balance":
            return state, state[value]
        source, target, amount = value["from"], value["to"], value["amount"]
        if state[source] < amount:
            return state, "refused"
        return {**state, source: state[source] - amount, target: state[target] + amount}, "done"

    def classify(self, state, f, value, answer):
        return ["a transfer of too much"] if f == "transfer" and state[value["from"]] < value["amount"] else [f]


if __name__ == "__main__":
    run(Ledger())
