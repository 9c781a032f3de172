// The SDK's client of version 2 goes through a whole conversation with an agent, and prints what it saw as JSON.
// node client_v2.mjs v2 | v2-unstable command of the agent... or its URL
import { ENTRY, Recorded, aborted, asItIs, plain, settled, startAgent } from "./shared.mjs";

const [entry, ...command] = process.argv.slice(2);
const unstable = entry === "v2-unstable";
const acp = await import(ENTRY[entry]);
const { stream, leave } = await startAgent(acp, command);

const updates = new Recorded();
const heard = new Recorded(); // notifications of extensions, and what became of a question that was withdrawn
const questions = [];
const idle = (update) => update.sessionUpdate === "state_update" && update.state === "idle";

const app = acp
  .client({ name: "typescript" })
  .onNotification("session/update", ({ params }) => updates.add(params.update))
  .onRequest("session/request_permission", async ({ params, agent, signal }) => {
    questions.push(params);
    if (params.title !== "Go on?") return { outcome: { outcome: "selected", optionId: "yes" } };
    await agent.notify("session/cancel", { sessionId: params.sessionId });
    await aborted(signal);
    heard.add(["question", "withdrawn"]);
    return { outcome: { outcome: "cancelled" } };
  })
  .onRequest("_acme.dev/ask", asItIs, ({ params }) => ({ answer: 42, to: params.question }))
  .onRequest("_acme.dev/refuse", asItIs, () => {
    throw new acp.RequestError(-32051, "not today", { until: "tomorrow", tags: [null, 1] });
  })
  .onNotification("_acme.dev/note", asItIs, ({ params }) => heard.add(["_acme.dev/note", params]))
  .onNotification("_acme.dev/started", asItIs, ({ params }) => heard.add(["_acme.dev/started", params]));
if (unstable) {
  app.onRequest("mcp/message", ({ params }) => {
    heard.add(["mcp/message", params]);
    return { error: { code: -32601, message: "no such tool", acme: true } };
  });
}

const connection = app.connect(stream);
const { agent } = connection;
const sessionId = "session-1";
const report = { updates, heard, questions };

const say = (text) => settled(agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }));

async function converse() {
  report.session = await agent.request("session/new", { cwd: "/project", mcpServers: [] });
  report.list = await agent.request("session/list", {});
  report.turn = await say("turn");
  await updates.until(1, idle);
  report.fail = await say("fail");
  report.broken = await say("break");
  report.malformed = await settled(agent.request("session/prompt", { sessionId, prompt: [{ type: "text" }] }));
  report.stall = await say("stall");
  await updates.until(2, idle);
  await heard.until(1, ([name]) => name === "question");

  await agent.notify("_acme.dev/note", { n: 2 });
  report.echo = await agent.request("_acme.dev/echo", { text: "Grüße \u2028", none: null, many: [1, 2.5] });
  report.silent = await settled(agent.request("_acme.dev/silent", {}));
  report.unheardOf = await settled(agent.request("_acme.dev/unheard_of", {}));
  report.unhandled = await settled(agent.request("session/delete", { sessionId }));
  report.toolCall = await settled(agent.request("tool_call/cancel", { sessionId, toolCallId: "call-1" }));
  const slow = new AbortController();
  const waiting = settled(agent.request("_acme.dev/slow", {}, { cancellationSignal: slow.signal }));
  await heard.until(1, ([name]) => name === "_acme.dev/started");
  slow.abort();
  report.slow = await waiting;
  if (unstable) {
    report.title = await agent.request("session/set_title", { sessionId, title: " A title " });
    await agent.notify("mcp/message", { serverId: "server-1", requestId: "r", method: "notifications/progress" });
  }
  report.nowhere = await settled(agent.request("session/resume", { sessionId: "nowhere", cwd: "/project" }));
  report.closed = await agent.request("session/close", { sessionId });
  report.log = await agent.request("_acme.dev/log", {});
}

try {
  const hello = { protocolVersion: 2, info: { name: "typescript", version: "2.4.0" } };
  report.initialized = await agent.request("initialize", hello);
  await converse();
} catch (error) {
  report.failure = plain(error);
}
connection.close();
report.exitCode = await leave();
console.log(JSON.stringify(report));
