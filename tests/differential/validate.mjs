// Answers what the reference TypeScript SDK makes of JSON values.
//
// stdin:  one JSON text a line: {"profile": "v2/stable", "type": "ContentBlock", "value": ...}
// stdout: one line each, in order: {"ok": true, "value": <normalised>}
//         | {"ok": false, "issues": [{"path": ["content", 0, "uri"], "message": "..."}, ...]}
//         | {"missing": true} when the SDK has no validator for that definition.
// A line that is not JSON is answered with ok: false; one that names no known profile ends the run with status 1.
// Whatever has arrived is answered before the next read, so that a peer may wait for answers before it goes on.

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

function refusal(message) {
  return { ok: false, issues: [{ path: [], message }] };
}

async function answer(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return refusal(`not JSON: ${error.message}`);
  }
  const validators = await validatorsOf(request.profile);
  const schema = validators[`z${request.type}`];
  if (schema === undefined) return { missing: true };
  const result = schema.safeParse(request.value);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, issues: result.error.issues.map(({ path, message }) => ({ path, message })) };
}

// Validators and JSON.stringify recurse: nesting that JSON.parse still takes can exhaust their stack.
async function answerText(line) {
  try {
    return JSON.stringify(await answer(line));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify(refusal(error.message));
  }
}

let ready = "";

async function flush() {
  const text = ready;
  ready = "";
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}

async function reply(line) {
  ready += (await answerText(line)) + "\n";
  if (ready.length >= OUTPUT_BATCH) await flush();
}

// node:readline also splits at U+2028 and U+2029, which JSON strings may hold unescaped.
let rest = "";
for await (const chunk of process.stdin.setEncoding("utf8")) {
  const lines = chunk.split("\n");
  lines[0] = rest + lines[0];
  rest = lines.pop();
  for (const line of lines) await reply(line);
  await flush();
}
if (rest !== "") await reply(rest);
await flush();
