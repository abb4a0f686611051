/** The three lines by which the README makes an Express application an agent: exactly those, run. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../../helpers/child-programs.ts';
import { folderInPackage } from '../../helpers/temporary-files.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function linesOf(page: string): string[] {
  const [, text = ''] =
    /^```ts express-agent\n(.*?)^```/ms.exec(readFileSync(join(root, page), 'utf8')) ?? [];
  return text.trimEnd().split('\n');
}

/** An application that knows nothing of them, and a line where each of them goes. */
const programOf = ([entry, first, last]: readonly string[], framework: string): string => `
${entry}
import express from '${framework}';
import { blockRequest, currentContext, identify } from 'security-event-delivery/capture';

const app = express();
${first}
app.use(express.json());
app.post('/orders/:id', async (request, response) => {
  identify({ email: 'ada@example.com' });
  await null;
  if (request.body.product === 'evil') blockRequest(() => console.log(JSON.stringify(currentContext())));
  response.send('thanks');
});
${last}
app.use((error, request, response, next) => response.status(500).send('my own handler'));

const server = app.listen(0, '127.0.0.1', async () => {
  for (const product of ['tea', 'evil']) {
    const response = await fetch(\`http://127.0.0.1:\${server.address().port}/orders/7?b=1\`, {
      method: 'POST',
      body: JSON.stringify({ product }),
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '6.6.6.6, 203.0.113.9' },
    });
    console.log(response.status, await response.text());
  }
  server.close();
});
`;

test('the README has three lines, which the program of the guide has, too', () => {
  const [entry = '', ...calls] = linesOf('README.md');
  expect(calls).toHaveLength(2);
  const guide = readFileSync(join(root, 'docs/capture.md'), 'utf8');
  for (const line of [entry, ...calls]) expect(guide).toContain(line);
});

test.each(['express', 'express4'])(
  'the three lines of the documentation capture requests of %s',
  async (framework) => {
    const folder = folderInPackage();
    const program = join(folder, 'application.mjs');
    writeFileSync(program, programOf(linesOf('README.md'), framework));
    const { exitCode, stdout, stderr } = await runProgram([program], { cwd: folder });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const [tea, context, evil] = stdout.split('\n');
    expect([tea, evil]).toEqual(['200 thanks', '403 Forbidden']);
    expect(JSON.parse(context ?? '')).toMatchObject({
      actor: { identifiers: { email: 'ada@example.com' }, ip: { address: '203.0.113.9' } },
      http: {
        request: {
          path: '/orders/7',
          parameters: { json: { product: 'evil' }, other: { params: { id: '7' } } },
        },
        response: { blocked: true, status: 403 },
      },
    });
  },
);
