// The agent of version 2. What the first block of a prompt says decides what the turn does.
import { aborted, asItIs, settled, turnOf } from "./shared.mjs";

export function agentV2(acp, unstable) {
  const script = turnOf("v2");
  const log = []; // everything that the SDK handed to a handler here, and what its calls came to
  const note = (name, value) => log.push([name, value]);
  let turn = new AbortController();

  async function tell(client, sessionId, updates) {
    for (const update of updates) await client.notify("session/update", { sessionId, update });
  }

  async function run(client, sessionId) {
    await tell(client, sessionId, script.opening);
    note("permission", await client.request("session/request_permission", { sessionId, ...script.permission }));
    note("asked", await settled(client.request("_acme.dev/ask", { question: "why" })));
    note("refused", await settled(client.request("_acme.dev/refuse", {})));
    note("unheard of", await settled(client.request("_acme.dev/unheard_of", {})));
    await client.notify("_acme.dev/note", { n: 1 });
    if (unstable) {
      const message = { serverId: "server-1", requestId: "7", method: "tools/list", params: { cursor: null } };
      note("mcp", await settled(client.request("mcp/message", message)));
    }
    await tell(client, sessionId, script.news);
    if (unstable) await tell(client, sessionId, script.experiments);
    await tell(client, sessionId, script.ending[unstable ? "unstable" : "stable"]);
  }

  async function stall(client, sessionId) {
    await tell(client, sessionId, script.stalled);
    const options = { cancellationSignal: turn.signal };
    const question = { sessionId, ...script.permission, title: "Go on?" };
    note("permission", await settled(client.request("session/request_permission", question, options)));
    await tell(client, sessionId, script.cancelled);
  }

  const app = acp
    .agent({ name: "typescript" })
    .onRequest("initialize", ({ params }) => {
      note("initialize", params);
      const experiments = { title: {}, mcp: { acp: {} } };
      return {
        protocolVersion: 2,
        info: { name: "typescript", version: "2.4.0" },
        capabilities: { session: unstable ? experiments : {}, _meta: { "acme.dev": { echo: true } } },
      };
    })
    .onRequest("session/new", ({ params }) => {
      note("session/new", params);
      return { sessionId: "session-1" };
    })
    .onRequest("session/list", () => ({
      sessions: [{ sessionId: "session-1", cwd: "/project", title: null, _meta: { "acme.dev": [] } }],
      nextCursor: "",
    }))
    .onRequest("session/resume", ({ params }) => {
      throw acp.RequestError.sessionNotFound(params.sessionId);
    })
    .onRequest("session/close", ({ params }) => note("session/close", params) && undefined)
    .onRequest("session/prompt", ({ params, client }) => {
      note("session/prompt", params);
      const { text } = params.prompt[0];
      if (text === "fail") throw new acp.RequestError(-32050, "out of quota", { retryAfter: 30, tags: ["a", null] });
      if (text === "break") throw new Error("a bug");
      turn = new AbortController();
      setImmediate(text === "stall" ? stall : run, client, params.sessionId);
      return { messageId: "message-1" };
    })
    .onNotification("session/cancel", ({ params }) => {
      note("session/cancel", params);
      turn.abort();
    })
    .onRequest("_acme.dev/echo", asItIs, ({ params }) => params)
    .onRequest("_acme.dev/log", asItIs, () => log)
    .onRequest("_acme.dev/silent", asItIs, () => {}) // goes out as `result: null`
    .onRequest("_acme.dev/slow", asItIs, async ({ client, signal }) => {
      await client.notify("_acme.dev/started", {});
      await aborted(signal);
      note("slow", "cancelled");
      throw acp.RequestError.requestCancelled();
    })
    .onNotification("_acme.dev/note", asItIs, ({ params }) => note("_acme.dev/note", params));
  if (unstable) {
    app.onRequest("session/set_title", ({ params }) => ({ title: params.title.trim() }));
    app.onNotification("mcp/message", ({ params }) => note("mcp/message", params));
  }
  return app;
}
