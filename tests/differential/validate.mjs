// Answers what the reference TypeScript SDK makes of JSON values.
//
// stdin:  one JSON text a line: {"profile": "v2/stable", "type": "ContentBlock", "value": ...}
// stdout: one line each, in order: {"ok": true, "value": <normalised>} | {"ok": false, "error": "..."}
//         | {"missing": true} when the SDK has no validator for that definition.
// A line that is not JSON is answered with ok: false; one that names no known profile ends the run with status 1.

import { once } from "node:events";

// The package exports its entry points only. Its validators sit beside them, as `z` + the definition's name.
const dist = new URL("../../", import.meta.resolve("@agentclientprotocol/sdk"));
const PROFILES = {
  "v1/stable": "v1/schema/zod.gen.js",
  "v1/unstable": "v1/unstable/schema/zod.gen.js",
  "v2/stable": "v2/schema/zod.gen.js",
  "v2/unstable": "v2/unstable/schema/zod.gen.js",
};
const OUTPUT_BATCH = 64 * 1024; // characters gathered before a write

const loaded = new Map();

async function validatorsOf(profile) {
  if (!Object.hasOwn(PROFILES, profile)) throw new Error(`unknown profile ${JSON.stringify(profile)}`);
  if (!loaded.has(profile)) loaded.set(profile, await import(new URL(PROFILES[profile], dist)));
  return loaded.get(profile);
}

function reason(error) {
  const issues = error.issues.map((issue) => `/${issue.path.join("/")}: ${issue.message}`);
  return issues.join("; ");
}

async function answer(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return { ok: false, error: `not JSON: ${error.message}` };
  }
  const validators = await validatorsOf(request.profile);
  const schema = validators[`z${request.type}`];
  if (schema === undefined) return { missing: true };
  const result = schema.safeParse(request.value);
  return result.success ? { ok: true, value: result.data } : { ok: false, error: reason(result.error) };
}

// node:readline also splits at U+2028 and U+2029, which JSON strings may hold unescaped.
async function* lines(stream) {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    const pieces = chunk.split("\n");
    pieces[0] = rest + pieces[0];
    rest = pieces.pop();
    yield* pieces;
  }
  if (rest !== "") yield rest;
}

// Validators and JSON.stringify recurse: nesting that JSON.parse still takes can exhaust their stack.
async function answerText(line) {
  try {
    return JSON.stringify(await answer(line));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify({ ok: false, error: error.message });
  }
}

let pending = "";

async function flush() {
  const ready = pending;
  pending = "";
  if (!process.stdout.write(ready)) await once(process.stdout, "drain");
}

for await (const line of lines(process.stdin)) {
  pending += (await answerText(line)) + "\n";
  if (pending.length >= OUTPUT_BATCH) await flush();
}
if (pending !== "") await flush();
