// A model and a client with each mistake that people make: things.mjs model, or things.mjs client.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import {
  ANY, Client, Fail, Impossible, Info, Model, array, command, constant, integer, isSymbol, oneOf, record, resultOf, run, text,
} from "./filibuster_property.cjs";

class Things extends Model {
  reads = ["look"];

  init() {
    console.log("a model prints");
    execFileSync("echo", ["so does its child"], { stdio: "inherit" });
    return { things: [] };
  }

  commands(state) {
    if (state === "none") return null;
    return [
      command("add", text(3), 2), command("look", resultOf("add")), command("pair", array(integer(0, 9), oneOf("a", null))),
      command("put", record({ key: text(), value: constant({ int: "eger" }) })), command("clear"),
    ];
  }

  pre(state, f, value) {
    return f !== "look" || isSymbol(value);
  }

  step(state, f, value, answer) {
    if (f === "add") return [{ things: [...state.things, value] }, state.things.push(value) - 1];
    if (f === "look" && answer === "nothing") throw new Impossible("there are things");
    return {
      look: () => [state, ANY], echo: () => [state, answer], null: () => [state, null], alone: () => state,
      bytes: () => [state, Buffer.from("bytes")], nan: () => [state, [NaN]], forgotten: () => [state, [undefined]],
      big: () => [state, 7n], itself: () => [state, (state.itself = state)], raise: () => state.absent.thing,
    }[f]();
  }

  classify(state, f, value, answer) {
    return { one: "label", two: ["a", 2] }[f];
  }
}

class Thing extends Client {
  resets = 0;

  async add(value) {
    console.log(`adds ${value}`);
    await setImmediate();
    return [value, readFileSync(0, "utf8")];
  }

  who(value, process) {
    return process;
  }

  refuse() {
    throw new Fail("503");
  }

  lose() {
    throw new Info(500);
  }

  async crash(value) {
    await setImmediate();
    return value.absent.thing;
  }

  ask() {
    return Buffer.from("bytes");
  }

  forget() {}

  async unreachable() {
    await fetch("http://127.0.0.1:1/");
  }

  _secret() {
    return "secret";
  }

  async reset() {
    this.resets += 1;
    await setImmediate();
    if (this.resets === 2) throw new Fail("cannot");
  }
}

run(process.argv[2] === "model" ? new Things() : new Thing());
