// The agents by the names that the tests give them: `v2`, `v2-unstable` or `v1`; or `router`, then those that the SDK's
// own router chooses between.
import { agentV1 } from "./agent_v1.mjs";
import { agentV2 } from "./agent_v2.mjs";
import { ENTRY } from "./shared.mjs";

/** A function that makes the agent anew at each call, and the SDK's module that belongs to it. */
export async function factory([first, ...others]) {
  const modules = {};
  for (const name of [first === "router" ? "v2" : first, ...others]) modules[name] = await import(ENTRY[name]);
  const one = (name) => (name === "v1" ? agentV1(modules.v1) : agentV2(modules[name], name === "v2-unstable"));

  function make() {
    if (first !== "router") return one(first);
    const router = modules.v2.agentProtocolRouter();
    for (const name of others) {
      if (name === "v1") router.withV1(one(name));
      else router.withV2(one(name));
    }
    return router;
  }
  return { make, acp: modules[first] ?? modules.v2 };
}
