// The official TypeScript client works with a server through nothing but the protocol. It takes the
// endpoint, a token, the revision to propose and where the contract clock is advanced, all from the
// environment; it prints a line for each step and exits with 1 at the first that does not hold.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';
import { Ajv2020 } from 'ajv/dist/2020.js';

const { PEER_URL, PEER_TOKEN, PEER_ADVANCE, PEER_PROPOSE } = process.env;
const revision = '2025-06-18';

// The client of the SDK proposes its newest revision; this one can be told which.
class Proposing extends Client {
  request(request, ...rest) {
    if (request.method === 'initialize') request.params.protocolVersion = PEER_PROPOSE || LATEST_PROTOCOL_VERSION;
    return super.request(request, ...rest);
  }
}

const transport = new StreamableHTTPClientTransport(new URL(PEER_URL), {
  requestInit: { headers: { Authorization: `Bearer ${PEER_TOKEN}` } },
});
const client = new Proposing({ name: 'peer', version: '1' });
const errors = [];
client.onerror = (e) => errors.push(e);

async function step(name, body) {
  try {
    await body();
  } catch (e) {
    console.log(`FAIL ${name}: ${e.stack ?? e}`);
    process.exit(1);
  }
  console.log(`ok ${name}`);
}

const tools = new Map();
const ajv = new Ajv2020({ strict: false, validateFormats: false });

// call calls a tool, and holds its result to its own output schema and to its text.
async function call(name, args, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(!result.isError, JSON.stringify(result));
  const valid = ajv.compile(tools.get(name).outputSchema);
  assert.ok(valid(result.structuredContent), JSON.stringify(valid.errors));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

await step('initialize', async () => {
  await client.connect(transport);
  assert.equal(transport.protocolVersion, revision);
  assert.match(transport.sessionId, /^[\x21-\x7e]+$/);
  assert.deepEqual(Object.keys(client.getServerCapabilities()), ['tools']);
  assert.equal(client.getServerVersion().name, 'seer');
});
await step('ping', () => client.ping());
await step('tools/list by pages', async () => {
  let pages = 0;
  for (let cursor; pages === 0 || cursor !== undefined; pages++) {
    assert.ok(pages < 20, 'the pages do not end');
    const page = await client.listTools({ cursor });
    for (const tool of page.tools) {
      assert.ok(!tools.has(tool.name), `${tool.name} is listed twice`);
      tools.set(tool.name, tool);
    }
    cursor = page.nextCursor;
  }
  assert.ok(pages > 1, 'there is one page only');
  assert.equal(tools.size, 7);
});
await step('a cursor that was never given out is refused', () =>
  assert.rejects(client.listTools({ cursor: 'never' }), { code: ErrorCode.InvalidParams }));
await step('a tool that reads', async () => {
  const bars = { instrumentId: 'equity:listing:apple-common-xnas', start: '2026-10-01', end: '2026-10-02' };
  const read = await call('seer_market_bars', bars);
  assert.equal(read.status, 'complete');
});
await step('bad arguments are an error of the tool', async () => {
  const result = await client.callTool({ name: 'seer_market_bars', arguments: {} });
  assert.equal(result.isError, true);
});
await step('an unknown tool is an error of the protocol', () =>
  assert.rejects(client.callTool({ name: 'none' }), { code: ErrorCode.InvalidParams }));
let job;
await step('a tool that starts a job', async () => {
  const condition = { indicator: { name: 'momentum', window: 20 }, operator: 'above', threshold: 0.02 };
  job = await call('seer_market_scan', { condition });
  assert.equal(typeof job.job_id, 'string');
});
await step('the job is read to its end', async () => {
  for (let reads = 0; job.state !== 'completed'; reads++) {
    assert.ok(reads < 200, `the job stays ${job.state}`);
    const moved = await fetch(PEER_ADVANCE, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"seconds": 5}' });
    assert.equal(moved.status, 200);
    job = await call('seer_jobs_get', { job_id: job.job_id });
  }
});
await step('its artifact', async () => {
  const artifact = await call('seer_artifacts_get', { artifact_id: job.result_ref });
  assert.equal(artifact.kind, 'tool_result');
});
await step('the session ends', async () => {
  const ended = transport.sessionId;
  await transport.terminateSession();
  assert.equal(transport.sessionId, undefined);
  const answer = await fetch(PEER_URL, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PEER_TOKEN}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': ended, 'MCP-Protocol-Version': revision },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'late', method: 'ping' }),
  });
  assert.equal(answer.status, 404);
  await client.close();
  assert.deepEqual(errors, []);
});
// The client goes on trying to resume the streams that ended with an error response, which are complete.
process.exit(0);
