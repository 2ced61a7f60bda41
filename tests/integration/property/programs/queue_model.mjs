// The model of corpus/job-queue in JavaScript: a write appends to a list and is answered the index, a read answers what is there.
import { ANY, Model, command, integer, isSymbol, resultOf, run, text } from "./filibuster_property.cjs";

class JobQueue extends Model {
  reads = ["read"];

  init() {
    return [];
  }

  commands(state) {
    const writes = [command("write", text(8), 2)];
    const reads = [command("read", resultOf("write"), 6), command("read", integer(0, state.length), 2)];
    return state.length > 0 ? [...writes, ...reads] : writes;
  }

  step(state, f, value, answer) {
    if (f === "write") return [[...state, value], state.length];
    if (isSymbol(value)) return [state, ANY]; // the program is only being made
    return [state, state[value] ?? null];
  }

  classify(state, f) {
    return f;
  }
}

run(new JobQueue());
