// The types of filibuster_property.cjs, whose text says what each name is for. To be copied beside it.

/** What a value of a command, a state or an answer may be. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A generator is JSON that stands for values: integer(), text(), oneOf(), array(), record(), resultOf(), constant(), or a value itself. */
export type Generator = Json;

/** Of command(). */
export interface Command {
  f: string;
  value: Generator;
  weight: number;
}

declare class Word {
  private readonly name: string;
}

/** The second of what step() returns: whatever is answered will do. */
export const ANY: Word;

/** The answer that step() and classify() are given where nobody saw one. */
export const UNKNOWN: Word;

/** What step() returns: the state after the command, and what it must have been answered. */
export type Step<State> = readonly [State, Json | typeof ANY | typeof UNKNOWN];

/** A client's command had no effect, for certain. */
export class Fail extends Error {
  constructor(why?: unknown);
}

/** Nobody knows whether a client's command had its effect, or will still have it. */
export class Info extends Error {
  constructor(why?: unknown);
}

/** In this state of the model, a command cannot have been answered so. */
export class Impossible extends Error {
  constructor(why?: unknown);
}

/** A whole number from `low` to `high`, both included. */
export function integer(low: number, high: number): Generator;

/** A text of at most `max` characters; of 8, if it is left out. */
export function text(max?: number): Generator;

/** One of these values, as they stand. */
export function oneOf(...values: Json[]): Generator;

/** An array with a value of each generator. */
export function array(...generators: Generator[]): Generator;

/** An object with a value of each generator under its name. */
export function record(generators: { [name: string]: Generator }): Generator;

/** What an earlier command `f` of the same program was answered. */
export function resultOf(f: string): Generator;

/** This value, also if it looks like a generator. */
export function constant(value: Json): Generator;

/** A command that may come next. `weight` says how often it is chosen beside others. */
export function command(f: string, value?: Generator, weight?: number): Command;

/** Whether this stands for an answer that is not known yet: while a program is made, no command has been executed. */
export function isSymbol(value: unknown): value is { result: number };

/** What the application does. `value` and `answer` are JSON, symbols, or for `answer` UNKNOWN. */
export abstract class Model<State = any> {
  /** The commands that never change the state. */
  reads: string[];

  /** The state after a reset. */
  abstract init(): State | Promise<State>;

  /** The commands that may come next. */
  abstract commands(state: State): Command[] | Promise<Command[]>;

  /** Whether the command may be called in this state. A shortened program has only commands that may. */
  pre(state: State, f: string, value: any): boolean | Promise<boolean>;

  /** Throws Impossible where the command cannot have had this answer in this state. */
  abstract step(state: State, f: string, value: any, answer: any): Step<State> | Promise<Step<State>>;

  /** Texts under which this step is counted. */
  classify(state: State, f: string, value: any, answer: any): string | string[] | Promise<string | string[]>;
}

/** Each command has a method of its name: (value, process) => its answer, or a promise of it. */
export class Client {
  /** Makes the state again that the model begins with. */
  reset(): void | Promise<void>;
}

/** Answers questions about the model, or executes commands by the client, until there are no more. */
export function run(served: Model | Client): Promise<void>;
