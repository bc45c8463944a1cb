// openai_package.mjs <base URL>: the processor time that the `openai` package takes for a chat, in microseconds. The package
// is looked for where this runs.
import { createRequire } from 'node:module';

const { OpenAI } = createRequire(process.cwd() + '/')('openai');
const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'none', maxRetries: 0 });
const atOnce = 32;

async function chat(requests) {
  let left = requests;
  const often = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await client.chat.completions.create({
        model: 'fixed',
        messages: [{ role: 'user', content: 'q'.repeat(200) }],
        max_completion_tokens: 400,
      });
      if (answer.choices[0].message.content.length !== 400) throw new Error('another answer');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, often));
}

const measured = 4000;
await chat(2000); // by then it is compiled
const before = process.cpuUsage();
await chat(measured);
const took = process.cpuUsage(before);
console.log((took.user + took.system) / measured);
