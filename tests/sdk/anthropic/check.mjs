// Anthropic's own client against the mock provider: what it makes of the mock's answers must be what was scripted.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { failureOf, runAll, startServer } from './mock_server.mjs';

const server = await startServer();
const client = new Anthropic({ apiKey: 'sdk-key', authToken: null, baseURL: server.url, maxRetries: 0 });
const model = 'mock-model';
const text = 'Water runs down to the gate.';
const ask = (content, more = {}) => ({ model, max_tokens: 1000, messages: [{ role: 'user', content }], ...more });

const tools = [
  {
    name: 'look_up',
    description: 'Looks up.',
    input_schema: { type: 'object', properties: { query: { type: 'string' } } },
  },
  { name: 'clock', input_schema: { type: 'object', properties: {} } },
];
const results = { look_up: 'eleven', clock: 'noon' };
const calls = [
  { type: 'tool_use', id: 'call_a', name: 'look_up', input: { query: 'größer als 10', limit: 3 } },
  { type: 'tool_use', id: 'call_b', name: 'clock', input: {} },
];

const checks = {
  'plain': async () => {
    const got = await client.messages.create(ask('12345678', { system: '1234' }));
    assert.equal(got.type, 'message');
    assert.equal(got.role, 'assistant');
    assert.equal(got.model, model);
    assert.deepEqual(got.content, [{ type: 'text', text }]);
    assert.equal(got.stop_reason, 'end_turn');
    assert.equal(got.stop_sequence, null);
    assert.equal(got.usage.input_tokens, 1);
    assert.equal(got.usage.cache_read_input_tokens, 1);
    assert.equal(got.usage.cache_creation_input_tokens, 1);
    assert.equal(got.usage.output_tokens, 6);
    assert.match(got._request_id, /^req-\d+$/);
  },

  'streamed: every event in its order': async () => {
    const types = [];
    for await (const event of await client.messages.create(ask('x', { stream: true }))) types.push(event.type);
    // The client keeps pings for itself.
    const deltas = Array(6).fill('content_block_delta');
    const around = ['message_start', 'content_block_start', ...deltas, 'content_block_stop', 'message_delta', 'message_stop'];
    assert.deepEqual(types, around);
  },

  'the stream helper tells of texts and of the whole message': async () => {
    const stream = client.messages.stream(ask('12345678'));
    const seen = [];
    let snapshot = '';
    stream.on('text', (delta, soFar) => {
      seen.push(delta);
      snapshot = soFar;
    });
    const got = await stream.finalMessage();
    assert.deepEqual(seen, ['Water', ' runs', ' down', ' to', ' the', ' gate.']);
    assert.equal(snapshot, text);
    assert.equal(await stream.finalText(), text);
    assert.equal(got.stop_reason, 'end_turn');
    assert.equal(got.usage.input_tokens, 0);
    assert.equal(got.usage.cache_read_input_tokens, 1);
    assert.equal(got.usage.output_tokens, 6);
    assert.match(stream.request_id, /^req-\d+$/);
  },

  'a stream cut at every byte, with CRLF': async () => {
    assert.equal(await client.messages.stream(ask('split')).finalText(), text);
  },

  'the limit on tokens cuts': async () => {
    const got = await client.messages.create(ask('x', { max_tokens: 3 }));
    assert.equal(got.content[0].text, 'Water runs down');
    assert.equal(got.stop_reason, 'max_tokens');
  },

  'parallel calls, plain and assembled from fragments': async () => {
    const plain = await client.messages.create(ask('tools', { tools }));
    assert.deepEqual(plain.content, [{ type: 'text', text: 'Let me look.' }, ...calls]);
    assert.equal(plain.stop_reason, 'tool_use');

    const stream = client.messages.stream(ask('tools', { tools }));
    let fragments = '';
    let last;
    stream.on('inputJson', (partial, soFar) => {
      fragments += partial;
      last = soFar;
    });
    const blocks = [];
    stream.on('contentBlock', (block) => blocks.push(block.type));
    const got = await stream.finalMessage();
    assert.deepEqual(got.content, plain.content);
    assert.equal(fragments, '{"query":"größer als 10","limit":3}{}');
    assert.deepEqual(last, {});
    assert.deepEqual(blocks, ['text', 'tool_use', 'tool_use']);
    assert.equal(got.stop_reason, 'tool_use');
    assert.equal(got.usage.output_tokens, 3 + 6 + 2);
  },

  'results of tools go back with what was said before': async () => {
    const request = ask('tools', { tools });
    const first = await client.messages.stream(request).finalMessage();
    request.messages.push({ role: 'assistant', content: first.content });
    const answers = first.content
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ type: 'tool_result', tool_use_id: block.id, content: results[block.name] }));
    request.messages.push({ role: 'user', content: answers });
    const second = await client.messages.create(request);
    assert.equal(second.content[0].text, 'The tools say: call_a=eleven call_b=noon');
    request.messages[2].content = answers.slice(1);
    const failure = await failureOf(client.messages.create(request));
    assert(failure instanceof Anthropic.BadRequestError);
    assert.match(failure.message, /without `tool_result` blocks immediately after: call_a/);
  },

  'thinking is signed, and goes back as it came': async () => {
    const request = ask('think', { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 });
    const stream = client.messages.stream(request);
    const seen = [];
    let signature = '';
    stream.on('thinking', (delta) => seen.push(delta));
    stream.on('signature', (whole) => (signature = whole));
    const got = await stream.finalMessage();
    assert.deepEqual(seen, ['Let', ' me', ' see']);
    assert.deepEqual(got.content, [
      { type: 'thinking', thinking: 'Let me see', signature },
      { type: 'text', text: 'Yes, it does.' },
    ]);
    assert(signature.length > 0);
    request.messages.push({ role: 'assistant', content: got.content }, { role: 'user', content: 'x' });
    assert.equal((await client.messages.create(request)).content[0].text, text);
    got.content[0].signature = '';
    assert.match((await failureOf(client.messages.create(request))).message, /signature: Field required/);
  },

  'refusal': async () => {
    const got = await client.messages.stream(ask('refuse')).finalMessage();
    assert.equal(got.stop_reason, 'refusal');
    assert.equal(got.content[0].text, 'I will not do that.');
  },

  'what the real one refuses': async () => {
    for (const [request, message] of [
      [{ model, messages: ask('x').messages }, /max_tokens: Field required/],
      [ask(''), /must have non-empty content/],
      [{ ...ask('x'), messages: [{ role: 'assistant', content: 'x' }] }, /first message must use the \\?"user\\?" role/],
      [ask('x', { tools: [{ name: 'f' }] }), /input_schema: Field required/],
    ]) {
      const failure = await failureOf(client.messages.create(request));
      assert(failure instanceof Anthropic.BadRequestError);
      assert.equal(failure.error.type, 'error');
      assert.equal(failure.error.error.type, 'invalid_request_error');
      assert.match(failure.message, message);
    }
  },

  'errors are of their classes': async () => {
    const wrongKey = new Anthropic({ apiKey: 'wrong', authToken: null, baseURL: server.url, maxRetries: 0 });
    const refused = await failureOf(wrongKey.messages.create(ask('x')));
    assert(refused instanceof Anthropic.AuthenticationError);
    assert.equal(refused.error.error.type, 'authentication_error');
    for (const [status, kind, type] of [
      [400, Anthropic.BadRequestError, 'invalid_request_error'],
      [403, Anthropic.PermissionDeniedError, 'permission_error'],
      [404, Anthropic.NotFoundError, 'not_found_error'],
      [429, Anthropic.RateLimitError, 'rate_limit_error'],
      [500, Anthropic.InternalServerError, 'api_error'],
      [529, Anthropic.InternalServerError, 'overloaded_error'],
    ]) {
      for (const stream of [false, true]) {
        const failure = await failureOf(client.messages.create(ask(`status ${status}`, { stream })));
        assert(failure instanceof kind, `${status}: ${failure}`);
        assert.equal(failure.status, status);
        assert.equal(failure.error.error.type, type);
        assert.equal(failure.requestID, failure.error.request_id);
      }
    }
  },

  'an error in mid-stream': async () => {
    const stream = client.messages.stream(ask('broken'));
    const seen = [];
    stream.on('text', (delta) => seen.push(delta));
    const failure = await failureOf(stream.finalMessage());
    assert(failure instanceof Anthropic.APIError);
    assert.match(failure.message, /overloaded_error/);
    assert.deepEqual(seen, ['water', ' runs']);
  },

  'a connection that is torn in mid-stream': async () => {
    const failure = await failureOf(client.messages.stream(ask('torn')).finalMessage());
    assert(failure instanceof Anthropic.AnthropicError);
  },

  'leaving a stream frees its slot': async () => {
    const before = await server.stats();
    assert.equal(before.running, 0);
    const stream = client.messages.stream(ask('silent'));
    stream.on('text', (delta) => {
      if (delta === ' runs') stream.abort();
    });
    const failure = await failureOf(stream.finalMessage());
    assert(failure instanceof Anthropic.APIUserAbortError);
    assert(await server.cancelled(before.cancelled + 1));
    for await (const event of await client.messages.create(ask('silent', { stream: true }))) {
      if (event.delta?.text === ' runs') break;
    }
    assert(await server.cancelled(before.cancelled + 2));
    assert.equal((await server.stats()).open, 0);
  },

  'retries come when retry-after-ms says': async () => {
    const before = await server.stats();
    const begin = performance.now();
    const got = await client.withOptions({ maxRetries: 1 }).messages.create(ask('again 40'));
    const took = performance.now() - begin;
    assert.equal(got.content[0].text, text);
    assert.equal((await server.stats()).received - before.received, 2);
    assert(took >= 39, `${took} ms`);
  },

  'headers tell the limits': async () => {
    const { response } = await client.messages.create(ask('x')).withResponse();
    for (const what of ['requests', 'tokens', 'input-tokens', 'output-tokens']) {
      const header = (end) => response.headers.get(`anthropic-ratelimit-${what}-${end}`);
      assert.equal(header('remaining'), header('limit'));
      assert(!Number.isNaN(Date.parse(header('reset'))));
    }
  },

  'the list of models': async () => {
    const ids = [];
    for await (const each of client.models.list()) ids.push(each.id);
    assert.deepEqual(ids, [model]);
  },

  'nothing is left open': async () => {
    const stats = await server.stats();
    assert.equal(stats.open, 0);
    assert.equal(stats.running, 0);
    assert.equal(stats.authorized, stats.received);
  },
};

const good = await runAll(checks);
await server.stop();
process.exitCode = good ? 0 : 1;
