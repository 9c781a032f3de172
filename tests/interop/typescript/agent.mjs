// An agent written with the SDK, on this process's stdin and stdout.
// node agent.mjs v2 | v2-unstable | v1, or `router` and some of these.
import { factory } from "./agents.mjs";
import { ownStream } from "./shared.mjs";

const { make, acp } = await factory(process.argv.slice(2));
make().connect(ownStream(acp));
