// OpenAI's own client against the mock provider: what it makes of the mock's answers must be what was scripted.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { failureOf, runAll, startServer } from './mock_server.mjs';

const server = await startServer();
const client = new OpenAI({ apiKey: 'sdk-key', baseURL: server.url + '/v1', maxRetries: 0 });
const user = (content) => [{ role: 'user', content }];
const model = 'mock-model';
const text = 'Water runs down to the gate.';

const parameters = { type: 'object', properties: { query: { type: 'string' } }, additionalProperties: false };
const chatTools = [
  { type: 'function', function: { name: 'look_up', description: 'Looks up.', parameters } },
  { type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } },
];
const responseTools = chatTools.map(({ function: each }) => ({ type: 'function', strict: false, ...each }));
const results = { look_up: 'eleven', clock: 'noon' };

function checkCalls(calls) {
  assert.deepEqual(
    calls.map(({ id, name }) => [id, name]),
    [
      ['call_a', 'look_up'],
      ['call_b', 'clock'],
    ],
  );
  assert.deepEqual(JSON.parse(calls[0].arguments), { query: 'größer als 10', limit: 3 });
  assert.deepEqual(JSON.parse(calls[1].arguments), {});
}

async function collect(stream) {
  const all = [];
  for await (const each of stream) all.push(each);
  return all;
}

const chat = {
  'chat: plain': async () => {
    const got = await client.chat.completions.create({ model, messages: user('12345678') });
    assert.equal(got.object, 'chat.completion');
    assert.equal(got.model, model);
    assert.equal(got.choices[0].message.role, 'assistant');
    assert.equal(got.choices[0].message.content, text);
    assert.equal(got.choices[0].message.refusal, null);
    assert.equal(got.choices[0].finish_reason, 'stop');
    assert.equal(got.usage.prompt_tokens, 2);
    assert.equal(got.usage.prompt_tokens_details.cached_tokens, 1);
    assert.equal(got.usage.completion_tokens, 6);
    assert.equal(got.usage.total_tokens, 8);
    assert.match(got._request_id, /^req-\d+$/);
  },

  'chat: streamed, with usage last': async () => {
    const request = { model, messages: user('12345678'), stream: true, stream_options: { include_usage: true } };
    const chunks = await collect(await client.chat.completions.create(request));
    assert.equal(chunks.map((each) => each.choices[0]?.delta.content ?? '').join(''), text);
    assert.deepEqual(
      chunks.map((each) => each.choices[0]?.finish_reason).filter(Boolean),
      ['stop'],
    );
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.equal(chunks.at(-1).usage.total_tokens, 8);
    assert(chunks.slice(0, -1).every((each) => each.usage === null));
  },

  'chat: a stream cut at every byte, with CRLF': async () => {
    const runner = client.chat.completions.stream({ model, messages: user('split') });
    assert.equal(await runner.finalContent(), text);
  },

  'chat: gzip-encoded, plain and streamed': async () => {
    const got = await client.chat.completions.create({ model, messages: user('gzip') }).withResponse();
    assert.equal(got.response.headers.get('content-encoding'), 'gzip');
    assert.equal(got.data.choices[0].message.content, text);
    assert.equal(await client.chat.completions.stream({ model, messages: user('gzip') }).finalContent(), text);
  },

  'chat: the limit on tokens cuts': async () => {
    const got = await client.chat.completions.create({ model, messages: user('x'), max_completion_tokens: 3 });
    assert.equal(got.choices[0].message.content, 'Water runs down');
    assert.equal(got.choices[0].finish_reason, 'length');
  },

  'chat: the stream helper assembles parallel calls from fragments': async () => {
    const runner = client.chat.completions.stream({
      model,
      messages: user('tools'),
      tools: chatTools,
      stream_options: { include_usage: true },
    });
    const done = [];
    let said = '';
    runner.on('tool_calls.function.arguments.done', (each) => done.push([each.index, each.name]));
    runner.on('content', (delta) => (said += delta));
    const got = await runner.finalChatCompletion();
    assert.equal(said, 'Let me look.');
    assert.deepEqual(done, [
      [0, 'look_up'],
      [1, 'clock'],
    ]);
    assert.equal(got.choices[0].finish_reason, 'tool_calls');
    assert.equal(got.choices[0].message.content, 'Let me look.');
    checkCalls(got.choices[0].message.tool_calls.map((each) => ({ id: each.id, ...each.function })));
    assert.equal(got.usage.completion_tokens, 3 + 6 + 2);
  },

  'chat: the tool runner goes all the way round': async () => {
    for (const stream of [false, true]) {
      const runner = client.chat.completions.runTools({
        model,
        messages: user('tools'),
        stream,
        tools: [
          { type: 'function', function: { name: 'look_up', parameters, function: () => results.look_up } },
          {
            type: 'function',
            function: { name: 'clock', parameters: { type: 'object', properties: {} }, function: () => results.clock },
          },
        ],
      });
      assert.equal(await runner.finalContent(), 'The tools say: call_a=eleven call_b=noon');
    }
  },

  'chat: a call without its result is refused': async () => {
    const call = { id: 'call_a', type: 'function', function: { name: 'look_up', arguments: '{}' } };
    const messages = [...user('x'), { role: 'assistant', tool_calls: [call] }, ...user('y')];
    const failure = await failureOf(client.chat.completions.create({ model, messages }));
    assert(failure instanceof OpenAI.BadRequestError);
    assert.match(failure.message, /did not have response messages: call_a/);
  },

  'chat: refusal, and a filtered answer': async () => {
    const got = await client.chat.completions.create({ model, messages: user('refuse') });
    assert.equal(got.choices[0].message.refusal, 'I will not do that.');
    assert.equal(got.choices[0].message.content, null);
    const streamed = await client.chat.completions.stream({ model, messages: user('refuse') }).finalChatCompletion();
    assert.equal(streamed.choices[0].message.refusal, 'I will not do that.');
    const filtered = await client.chat.completions.create({ model, messages: user('filter') });
    assert.equal(filtered.choices[0].finish_reason, 'content_filter');
  },

  'chat: parsed output': async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const got = await client.chat.completions.parse({
      model,
      messages: user('object'),
      response_format: { type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } },
    });
    assert.deepEqual(JSON.parse(got.choices[0].message.content), { city: 'Paris', degrees: 14 });
  },
};

const responses = {
  'responses: plain': async () => {
    const got = await client.responses.create({ model, input: '12345678', instructions: '1234' });
    assert.equal(got.object, 'response');
    assert.equal(got.status, 'completed');
    assert.equal(got.output_text, text);
    assert.equal(got.error, null);
    assert.equal(got.usage.input_tokens, 3);
    assert.equal(got.usage.input_tokens_details.cached_tokens, 1);
    assert.equal(got.usage.output_tokens, 6);
    assert.equal(got.usage.total_tokens, 9);
  },

  'responses: streamed, every event in its order': async () => {
    const events = await collect(await client.responses.create({ model, input: user('12345678'), stream: true }));
    assert.deepEqual(
      events.map((each) => each.sequence_number),
      events.map((_, index) => index),
    );
    const deltas = events.filter((each) => each.type === 'response.output_text.delta');
    assert.equal(deltas.map((each) => each.delta).join(''), text);
    assert.equal(events[0].type, 'response.created');
    assert.equal(events.at(-1).type, 'response.completed');
    assert.equal(events.at(-1).response.usage.total_tokens, 8);
  },

  'responses: the stream helper assembles reasoning, text and parallel calls': async () => {
    for (const [asked, types] of [
      ['think', ['reasoning', 'message']],
      ['tools', ['message', 'function_call', 'function_call']],
      ['refuse', ['message']],
    ]) {
      const plain = await client.responses.create({ model, input: asked, tools: responseTools });
      const streamed = await client.responses.stream({ model, input: asked, tools: responseTools }).finalResponse();
      const bare = (each) =>
        JSON.parse(JSON.stringify(each.output).replace(/"(rs|msg|fc)_\d+/g, '"$1').replace(/,"parsed[^,}]*/g, ''));
      assert.deepEqual(bare(streamed), bare(plain));
      assert.deepEqual(
        plain.output.map((each) => each.type),
        types,
      );
      if (asked === 'think') {
        assert.deepEqual(streamed.output[0].summary, [{ type: 'summary_text', text: 'Let me see' }]);
        assert.equal(streamed.usage.output_tokens_details.reasoning_tokens, 3);
      }
      if (asked === 'tools') checkCalls(streamed.output.slice(1).map((each) => ({ ...each, id: each.call_id })));
      if (asked === 'refuse') {
        assert.equal(streamed.output[0].content[0].type, 'refusal');
        assert.equal(streamed.output[0].content[0].refusal, 'I will not do that.');
      }
    }
  },

  'responses: results of tools go back with what was said before': async () => {
    const input = user('tools');
    const first = await client.responses.create({ model, input, tools: responseTools });
    input.push(...first.output);
    for (const each of first.output.filter((item) => item.type === 'function_call')) {
      input.push({ type: 'function_call_output', call_id: each.call_id, output: results[each.name] });
    }
    const second = await client.responses.create({ model, input, tools: responseTools });
    assert.equal(second.output_text, 'The tools say: call_a=eleven call_b=noon');
    const failure = await failureOf(client.responses.create({ model, input: input.slice(0, -1) }));
    assert(failure instanceof OpenAI.BadRequestError);
    assert.match(failure.message, /No tool output found for function call call_b/);
  },

  'responses: cut by the limit, filtered, failed': async () => {
    const cut = await client.responses.create({ model, input: 'words', max_output_tokens: 16, user: 'out=20' });
    assert.equal(cut.status, 'completed');
    const filtered = await client.responses.stream({ model, input: 'filter' }).finalResponse();
    assert.equal(filtered.status, 'incomplete');
    assert.equal(filtered.incomplete_details.reason, 'content_filter');
    const events = await collect(await client.responses.create({ model, input: 'fail', stream: true }));
    assert.equal(events.at(-1).type, 'response.failed');
    assert.equal(events.at(-1).response.error.code, 'server_error');
  },

  'responses: parsed output': async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const format = { type: 'json_schema', name: 'weather', schema, strict: true };
    const got = await client.responses.create({ model, input: 'object', text: { format } });
    assert.deepEqual(JSON.parse(got.output_text), { city: 'Paris', degrees: 14 });
  },
};

const failures = {
  'errors are of their classes': async () => {
    const wrongKey = new OpenAI({ apiKey: 'wrong', baseURL: server.url + '/v1', maxRetries: 0 });
    let failure = await failureOf(wrongKey.chat.completions.create({ model, messages: user('x') }));
    assert(failure instanceof OpenAI.AuthenticationError);
    assert.equal(failure.code, 'invalid_api_key');
    for (const [status, kind, code] of [
      [400, OpenAI.BadRequestError, null],
      [403, OpenAI.PermissionDeniedError, null],
      [404, OpenAI.NotFoundError, 'unknown_url'],
      [422, OpenAI.UnprocessableEntityError, null],
      [429, OpenAI.RateLimitError, 'rate_limit_exceeded'],
      [500, OpenAI.InternalServerError, null],
      [503, OpenAI.InternalServerError, null],
    ]) {
      for (const request of [
        client.chat.completions.create({ model, messages: user(`status ${status}`) }),
        client.responses.create({ model, input: `status ${status}`, stream: true }),
      ]) {
        failure = await failureOf(request);
        assert(failure instanceof kind, `${status}: ${failure}`);
        assert.equal(failure.status, status);
        assert.equal(failure.code, code);
        assert.match(failure.requestID, /^req-\d+$/);
      }
    }
    failure = await failureOf(client.responses.create({ model, input: [] }));
    assert(failure instanceof OpenAI.BadRequestError);
    assert.equal(failure.param, 'input');
  },

  'an error in mid-stream': async () => {
    const stream = await client.chat.completions.create({ model, messages: user('broken'), stream: true });
    let said = '';
    const failure = await failureOf(
      (async () => {
        for await (const chunk of stream) said += chunk.choices[0].delta.content;
      })(),
    );
    assert(failure instanceof OpenAI.APIError);
    assert.equal(failure.type, 'overloaded_error');
    assert.match(failure.message, /Overloaded/);
    assert.equal(said, 'water runs');
    const events = await collect(await client.responses.create({ model, input: 'broken', stream: true }));
    assert.equal(events.at(-1).type, 'error');
    assert.equal(events.at(-1).message, 'Overloaded');
    assert.equal(events.at(-1).code, 'overloaded_error');
  },

  'a connection that is torn in mid-stream': async () => {
    const stream = await client.chat.completions.create({ model, messages: user('torn'), stream: true });
    const failure = await failureOf(collect(stream));
    assert.match(String(failure.cause ?? failure), /terminated|closed|reset/i);
  },

  'leaving a stream frees its slot': async () => {
    const before = await server.stats();
    assert.equal(before.running, 0);
    const stream = await client.chat.completions.create({ model, messages: user('silent'), stream: true });
    for await (const chunk of stream) {
      if (chunk.choices[0].delta.content === ' runs') stream.controller.abort();
    }
    assert(await server.cancelled(before.cancelled + 1));
    const leaving = new AbortController();
    const events = await client.responses.create({ model, input: 'silent', stream: true }, { signal: leaving.signal });
    for await (const event of events) {
      if (event.delta === ' runs') leaving.abort();
    }
    assert(await server.cancelled(before.cancelled + 2));
    assert.equal((await server.stats()).open, 0);
  },

  'retries come when retry-after-ms says': async () => {
    const before = await server.stats();
    const patient = client.withOptions({ maxRetries: 1 });
    const begin = performance.now();
    const got = await patient.chat.completions.create({ model, messages: user('again 40') });
    const took = performance.now() - begin;
    assert.equal(got.choices[0].message.content, text);
    assert.equal((await server.stats()).received - before.received, 2);
    assert(took >= 39, `${took} ms`);
    const failure = await failureOf(patient.responses.create({ model, input: 'status 429' }).asResponse());
    assert.equal(failure.headers.get('x-ratelimit-remaining-requests'), failure.headers.get('x-ratelimit-limit-requests'));
    assert.equal((await server.stats()).received - before.received, 4);
  },

  'the list of models': async () => {
    const list = await client.models.list();
    assert.deepEqual(
      list.data.map((each) => each.id),
      [model],
    );
  },

  'nothing is left open': async () => {
    const stats = await server.stats();
    assert.equal(stats.open, 0);
    assert.equal(stats.running, 0);
    assert.equal(stats.authorized, stats.received);
  },
};

const good = await runAll({ ...chat, ...responses, ...failures });
await server.stop();
process.exitCode = good ? 0 : 1;
