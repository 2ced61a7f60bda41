"""What the web service does: it keeps a list. A write appends to it and is answered the index, a read answers what is there."""
from filibuster_property import ANY, Model, command, integer, is_symbol, result_of, run, text


class JobQueue(Model):
    reads = ["read"]

    def init(self):
        return []

    def commands(self, state):
        writes = [command("write", text(max=8), weight=2)]
        # The second kind of read also asks for what is not there.
        reads = [command("read", result_of("write"), weight=6), command("read", integer(0, len(state)), weight=2)]
        return writes + reads if state else writes

    def step(self, state, f, value, answer):
        if f == "write":
            return state + [value], len(state)
        if is_symbol(value):  # the program is only being made
            return state, ANY
        return state, state[value] if value < len(state) else None

    def classify(self, state, f, value, answer):
        if f == "write":
            return ["write of an empty text"] if value == "" else ["write"]
        return ["read of nothing"] if not is_symbol(value) and value >= len(state) else ["read"]


if __name__ == "__main__":
    run(JobQueue())
