// The agent of version 1: here the answer to a prompt ends the turn.
import { asItIs, settled, turnOf } from "./shared.mjs";

export function agentV1(acp) {
  const script = turnOf("v1");
  const log = [];
  const note = (name, value) => log.push([name, value]);
  let stop;
  const stopped = new Promise((resolve) => (stop = resolve));

  async function tell(client, sessionId, updates) {
    for (const update of updates) await client.notify("session/update", { sessionId, update });
  }

  async function run(client, sessionId) {
    await tell(client, sessionId, script.opening);
    note("permission", await client.request("session/request_permission", { sessionId, ...script.permission }));
    note("read", await settled(client.request("fs/read_text_file", { sessionId, path: "/project/a.txt", limit: 1 })));
    note("write", await settled(client.request("fs/write_text_file", { sessionId, path: "/a", content: "" })));
    note("terminal", await settled(client.request("terminal/create", { sessionId, command: "ls" })));
    note("asked", await settled(client.request("_acme.dev/ask", { question: "why" })));
    note("silent", await settled(client.request("_acme.dev/silent", {})));
    await client.notify("_acme.dev/note", { n: 1 });
    await tell(client, sessionId, script.news);
    await tell(client, sessionId, script.unknown);
    await tell(client, sessionId, script.ending);
    return { stopReason: "end_turn" };
  }

  async function stall(client, sessionId) {
    await tell(client, sessionId, script.stalled);
    const answer = await client.request("session/request_permission", { sessionId, ...script.permission });
    await stopped; // the SDK may hand out an answer before a notification that came ahead of it
    note("permission", answer);
    return { stopReason: "cancelled" };
  }

  return acp
    .agent({ name: "typescript" })
    .onRequest("initialize", ({ params }) => {
      note("initialize", params);
      return {
        protocolVersion: 1,
        agentInfo: { name: "typescript", version: "2.4.0" },
        agentCapabilities: { loadSession: true, _meta: { "acme.dev": { echo: true } } },
      };
    })
    .onRequest("session/new", ({ params }) => {
      note("session/new", params);
      return { sessionId: "session-1" };
    })
    .onRequest("session/load", ({ params }) => note("session/load", params) && undefined)
    .onRequest("session/prompt", ({ params, client }) => {
      note("session/prompt", params);
      const { text } = params.prompt[0];
      if (text === "fail") throw new acp.RequestError(-32050, "out of quota", { retryAfter: 30, tags: ["a", null] });
      if (text === "break") throw new Error("a bug");
      return (text === "stall" ? stall : run)(client, params.sessionId);
    })
    .onNotification("session/cancel", ({ params }) => {
      note("session/cancel", params);
      stop();
    })
    .onRequest("_acme.dev/echo", asItIs, ({ params }) => params)
    .onRequest("_acme.dev/log", asItIs, () => log)
    .onRequest("_acme.dev/silent", asItIs, () => {}) // goes out as `result: null`
    .onNotification("_acme.dev/note", asItIs, ({ params }) => note("_acme.dev/note", params));
}
