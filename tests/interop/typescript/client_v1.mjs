// The SDK's client of version 1 goes through a whole conversation with an agent, and prints what it saw as JSON.
// node client_v1.mjs protocol-version command of the agent... or its URL
import { ENTRY, Recorded, asItIs, plain, settled, startAgent } from "./shared.mjs";

const [protocolVersion, ...command] = process.argv.slice(2);
const acp = await import(ENTRY.v1);
const { stream, leave } = await startAgent(acp, command);

const updates = new Recorded();
const heard = new Recorded();
const questions = [];
let stalled = false;

const app = acp
  .client({ name: "typescript" })
  .onNotification("session/update", ({ params }) => updates.add(params.update))
  .onRequest("session/request_permission", async ({ params, agent }) => {
    questions.push(params);
    if (!stalled) return { outcome: { outcome: "selected", optionId: "yes" } };
    await agent.notify("session/cancel", { sessionId: params.sessionId });
    return { outcome: { outcome: "cancelled" } };
  })
  .onRequest("fs/read_text_file", ({ params }) => ({ content: `${params.path}:${params.limit}` }))
  .onRequest("fs/write_text_file", () => {
    throw new acp.RequestError(-32051, "read only", { disk: "full", tags: [null, 1] });
  })
  .onRequest("_acme.dev/ask", asItIs, ({ params }) => ({ answer: 42, to: params.question }))
  .onRequest("_acme.dev/silent", asItIs, () => {}) // goes out as `result: null`
  .onNotification("_acme.dev/note", asItIs, ({ params }) => heard.add(["_acme.dev/note", params]));

const connection = app.connect(stream);
const { agent } = connection;
const sessionId = "session-1";
const report = { updates, heard, questions };

const say = (text) => settled(agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }));

async function converse() {
  report.session = await agent.request("session/new", { cwd: "/project", mcpServers: [] });
  report.turn = await say("turn");
  // The SDK may hand out an answer before the updates that came ahead of it.
  await updates.until(1, (update) => update.content?.text === "Done.");
  report.fail = await say("fail");
  report.broken = await say("break");
  report.malformed = await settled(agent.request("session/prompt", { sessionId, prompt: [{ type: "text" }] }));
  stalled = true;
  report.stall = await say("stall");
  await updates.until(1, (update) => update.content?.text === "One moment");
  await agent.notify("_acme.dev/note", { n: 2 });
  report.echo = await agent.request("_acme.dev/echo", { text: "Grüße \u2028", none: null, many: [1, 2.5] });
  report.silent = await settled(agent.request("_acme.dev/silent", {}));
  report.unheardOf = await settled(agent.request("_acme.dev/unheard_of", {}));
  report.unhandled = await settled(agent.request("session/list", {}));
  report.loaded = await agent.request("session/load", { sessionId, cwd: "/project", mcpServers: [] });
  report.log = await agent.request("_acme.dev/log", {});
}

try {
  const hello = {
    protocolVersion: Number(protocolVersion),
    clientInfo: { name: "typescript", version: "2.4.0" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  };
  report.initialized = await agent.request("initialize", hello);
  if (report.initialized.protocolVersion === 1) await converse();
} catch (error) {
  report.failure = plain(error);
}
connection.close();
report.exitCode = await leave();
console.log(JSON.stringify(report));
