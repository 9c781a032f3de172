// Agents written with the SDK behind its own server: HTTP and WebSocket on /acp, on a free port of loopback.
// node server.mjs v2 | v2-unstable | v1, or `router` and some of these. Prints its port, and ends with its stdin.
import { once } from "node:events";
import { createServer } from "node:http";
import { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { WebSocketServer } from "ws";
import { factory } from "./agents.mjs";

const { make } = await factory(process.argv.slice(2));
const acp = new AcpServer({ createAgent: make });
const server = createServer(createNodeHttpHandler(acp));
server.on("upgrade", createNodeWebSocketUpgradeHandler(acp, new WebSocketServer({ noServer: true })));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
await once(process.stdin.resume(), "end");
await acp.close();
server.close();
server.closeAllConnections();
