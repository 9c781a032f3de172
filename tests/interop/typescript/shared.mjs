// What the scripts of both sides and both versions share.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

/** The SDK's entry points by the names that the tests give them. */
export const ENTRY = {
  v1: "@agentclientprotocol/sdk",
  v2: "@agentclientprotocol/sdk/experimental/v2",
  "v2-unstable": "@agentclientprotocol/sdk/experimental/v2/unstable",
};

/** The updates of a turn, as they stand on the wire. */
export function turnOf(version) {
  return JSON.parse(readFileSync(new URL(`turn.${version}.json`, import.meta.url), "utf8"));
}

/** Params as they come: what the SDK wants as the parser of an extension method. */
export const asItIs = (params) => params;

/** An error as JSON that two programs can compare. */
export function plain(error) {
  return { code: error.code, message: error.message, data: error.data };
}

/** What a promise comes to: `{ value }` or `{ error }`. */
export async function settled(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: plain(error) };
  }
}

/** Resolves when an AbortSignal fires, also one that has fired. */
export function aborted(signal) {
  return signal.aborted ? Promise.resolve() : once(signal, "abort");
}

/** This process's own stdin and stdout as a stream of messages. */
export function ownStream(acp) {
  return acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
}

/** Reaches an agent by its URL: its stream of messages, and a function that has nothing to wait for. */
async function reachAgent(url) {
  if (url.startsWith("http")) {
    const { createHttpStream } = await import("@agentclientprotocol/sdk/experimental/http-client");
    return { stream: createHttpStream(url), leave: () => null };
  }
  const { createWebSocketStream } = await import("@agentclientprotocol/sdk/experimental/ws-client");
  const { WebSocket } = await import("ws");
  return { stream: createWebSocketStream(url, { WebSocket }), leave: () => null };
}

/** Starts an agent, or reaches one that is given by a URL: its stream of messages, and a function that closes its
 * stdin and waits for its exit code. */
export async function startAgent(acp, [command, ...args]) {
  if (/^(http|ws):/.test(command)) return reachAgent(command);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  async function leave() {
    child.stdin.end();
    const [code] = await exited;
    return code;
  }
  return { stream, leave };
}

/** A list that can be waited on until it has so many items of a sort. */
export class Recorded extends Array {
  #waiting = [];

  add(item) {
    this.push(item);
    this.#waiting = this.#waiting.filter(({ done, resolve }) => !done() || resolve());
  }

  until(count, matches = () => true) {
    const done = () => this.filter(matches).length >= count;
    return done() ? Promise.resolve() : new Promise((resolve) => this.#waiting.push({ done, resolve }));
  }

  static get [Symbol.species]() {
    return Array;
  }
}
