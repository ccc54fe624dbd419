// A client made with one of the two TypeScript SDKs, v1 and v2; it prints what it saw as JSON.
//
//     node client.mjs v1|v2|v2-stateless URL KEY

const [, , sdk, url, key] = process.argv;
const asked = [];
const progress = [];

async function connect() {
  const name = sdk === "v1" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client";
  const { Client, ...more } = await import(name);
  const { StreamableHTTPClientTransport } =
    sdk === "v1" ? await import("@modelcontextprotocol/sdk/client/streamableHttp.js") : more;
  const options = { capabilities: { elicitation: {} } };
  if (sdk === "v2-stateless") {
    options.versionNegotiation = { mode: { pin: "2026-07-28" } };
  }
  const client = new Client({ name: "peer", version: "1" }, options);
  const answer = (request) => {
    asked.push(request.params.message);
    return { action: "accept", content: {} };
  };
  if (sdk === "v1") {
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    client.setRequestHandler(ElicitRequestSchema, answer);
  } else {
    client.setRequestHandler("elicitation/create", answer);
  }
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

const client = await connect();

function callTool(name, args, options) {
  const params = { name: "call_tool", arguments: { server: "local", name, arguments: args } };
  return sdk === "v1" ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

const listed = await client.listTools();
const search = { name: "search_tools", arguments: { query: "add two numbers", limit: 1 } };
const found = await client.callTool(search);
const sum = await callTool("add_numbers", { a: 2, b: 3 });
const steps = await callTool("report_progress", { steps: 3 }, { onprogress: (each) => progress.push(each) });
const booked = await callTool("book_room", { room: `of ${sdk}` });
const failed = await callTool("always_fail", {});
const server = client.getServerVersion().name;
await client.close();

console.log(JSON.stringify({
  server,
  listed: listed.tools.map((tool) => tool.name),
  found: found.structuredContent.tools.map((tool) => `${tool.server}/${tool.name}`),
  sum: sum.structuredContent,
  steps: steps.content,
  progress,
  booked: booked.content,
  asked,
  failed: failed.isError,
}));
