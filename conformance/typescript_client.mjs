// The official TypeScript client: requests come as lines of JSON, and their results leave so.
//
// The one argument says in JSON which `version` of the protocol is wanted, and the `url` or the
// `command`, `args` and `env` of the server.

import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const { version, url, ...server } = JSON.parse(process.argv[2]);
const mode = version ? { pin: version } : "legacy";
const client = new Client(
  { name: "conformance", version: "1" },
  { versionNegotiation: { mode } },
);
const methods = {
  "tools/list": () => client.listTools(),
  "tools/call": (params) => client.callTool(params),
  "resources/list": () => client.listResources(),
  "resources/templates/list": () => client.listResourceTemplates(),
  "resources/read": (params) => client.readResource(params),
  "prompts/list": () => client.listPrompts(),
  "prompts/get": (params) => client.getPrompt(params),
};

await client.connect(
  url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(server),
);
console.log(JSON.stringify(client.getNegotiatedProtocolVersion()));
for await (const line of createInterface({ input: process.stdin })) {
  const [method, params] = JSON.parse(line);
  console.log(JSON.stringify(await methods[method](params)));
}
await client.close();
