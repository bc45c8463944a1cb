// The mock provider as a child process: its URL, its counters, and its end.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export async function startServer() {
  const child = spawn(process.env.SLUICE_MOCK_SERVER, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error('the mock server has ended');
    return value;
  };
  const ask = (question) => {
    child.stdin.write(question + '\n');
    return next();
  };
  return {
    url: await next(),
    stats: async () => JSON.parse(await ask('stats')),
    cancelled: async (count) => (await ask(`cancelled ${count}`)) === 'yes',
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.stdin.end();
      }),
  };
}

// Runs `checks`, a function each by its name, one after the other; a failure does not stop the rest.
export async function runAll(checks) {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok    ${name}`);
    } catch (failure) {
      ++failed;
      console.log(`FAIL  ${name}\n${failure.stack ?? failure}`);
    }
  }
  console.log(`${Object.keys(checks).length} checks, ${failed} failed`);
  return failed === 0;
}

export async function failureOf(promise) {
  try {
    await promise;
  } catch (failure) {
    return failure;
  }
  throw new Error('it did not fail');
}
