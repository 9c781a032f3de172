// An agent written with the SDK, on this process's stdin and stdout.
// node agent.mjs v2 | v2-unstable | v1, or `router` and some of these, between which the SDK's own router then chooses.
import { agentV1 } from "./agent_v1.mjs";
import { agentV2 } from "./agent_v2.mjs";
import { ENTRY, ownStream } from "./shared.mjs";

async function build(name) {
  const acp = await import(ENTRY[name]);
  return name === "v1" ? agentV1(acp) : agentV2(acp, name === "v2-unstable");
}

const [first, ...others] = process.argv.slice(2);
if (first === "router") {
  const acp = await import(ENTRY.v2);
  const router = acp.agentProtocolRouter();
  for (const name of others) {
    if (name === "v1") router.withV1(await build(name));
    else router.withV2(await build(name));
  }
  router.connect(ownStream(acp));
} else {
  const agent = await build(first);
  agent.connect(ownStream(await import(ENTRY[first])));
}
