import { describe, expect, it } from 'vitest';
import { testFacts } from '../../src/cli/test-report.ts';
import { received } from '../../src/contract/index.ts';
import { verify } from '../../src/webhook/signature.ts';
import { hang, respond, startReceiver } from '../helpers/receiver.ts';
import { type FakeTerminalOptions, runCommand, startCommand } from '../helpers/terminal.ts';

const SECRET = 'secret-of-the-test';
const ENVIRONMENT = { SECURITY_EVENTS_SECRET: SECRET };

const test = (words: readonly string[], options: FakeTerminalOptions = {}) =>
  runCommand(['test', ...words], { environment: ENVIRONMENT, ...options });

const parsed = (text: unknown): unknown => JSON.parse(String(text));

describe('test', () => {
  it('sends one signed test message, and prints the answer', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 202 })] });
    const { exitCode, stdout, stderr } = await test([receiver.url]);
    const [request] = receiver.requests;
    const body = request?.body ?? Buffer.alloc(0);
    const [message] = received.WebhookBodyV2.parse(parsed(body));
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Delivered: 127\.0\.0\.1:\d+ answered 202 after \S+ m?s\.\n/);
    expect(stdout.split('\n').slice(1)).toEqual([
      `Test message ${message?.message_id}, ${body.length} bytes.`,
      '',
    ]);
    expect(message).toMatchObject({
      message_type: 'test',
      retry_count: 0,
      message: { application_id: 'test', environment: 'test' },
    });
    expect(verify(body, request?.headers['x-svc-integrity'], SECRET)).toBe(true);
  });

  it('sends format 1 for the application of --application, with aliases on request', async () => {
    await using receiver = await startReceiver();
    const sent = async (...words: string[]): Promise<unknown> => {
      const { exitCode } = await test([receiver.url, '--format', '1', ...words]);
      expect(exitCode).toBe(0);
      return parsed(receiver.requests.at(-1)?.body);
    };
    expect(await sent('--v1-aliases')).toMatchObject([{ risk: 50 }]);
    const plain = await sent('--application', 'shop-1');
    expect(plain).toMatchObject([{ svc_payload_type: 'test', application_id: 'shop-1' }]);
    expect(plain).not.toHaveProperty('0.risk');
  });

  it('prints the result as one line of JSON with --json', async () => {
    await using receiver = await startReceiver({ script: [respond(), respond({ status: 404 })] });
    const result = await test([receiver.url, '--json']);
    expect(parsed(result.stdout)).toEqual({
      ok: true,
      message_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 200,
      durationMs: expect.any(Number),
      bytes: receiver.requests[0]?.body.length,
    });
    const refused = await test([receiver.url, '--json']);
    expect(refused.exitCode).toBe(1);
    expect(parsed(refused.stdout)).toMatchObject({
      ok: false,
      status: 404,
      advice: expect.stringContaining('The receiver has no such path'),
    });
  });

  it.each([
    [300, 'Redirects are not followed'],
    [400, 'Check the secret first: many receivers answer 400 to a wrong signature.'],
    [
      499,
      'The receiver must accept a JSON array and ignore unknown message types such as `test`. ' +
        'A receiver of the deprecated format needs format 1.',
    ],
    [505, 'The receiver failed. See its log.'],
    // HTTP does not define it.
    [700, ''],
  ])('says after %d: %s…', async (status, advice) => {
    await using receiver = await startReceiver({ script: [respond({ status })] });
    const { exitCode, stdout } = await test([receiver.url]);
    const lines = stdout.split('\n');
    expect(exitCode).toBe(1);
    expect(lines[0]).toMatch(new RegExp(`^Not delivered: \\S+ answered ${status} after `));
    expect([lines.length, lines[2]?.slice(0, advice.length)]).toEqual([advice ? 4 : 3, advice]);
    // One attempt.
    expect(receiver.requests).toHaveLength(1);
  });

  it('explains that nothing listens at the port', async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const { exitCode, stdout } = await test([receiver.url]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Not delivered: no answer from 127\.0\.0\.1:\d+\.\n/);
    expect(stdout).toContain('The connection was refused while connecting (ECONNREFUSED);');
    expect(stdout).toContain('\n`security-events listen` starts a receiver.');
  });

  it('says what to do after a deadline', async () => {
    await using receiver = await startReceiver({ script: [hang()] });
    const { exitCode, stdout } = await test([receiver.url, '--deadline', '100ms']);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('\n`security-events test --deadline TIME` waits longer.');
  });

  it('accepts private addresses by default, and refuses them with --network public', async () => {
    await using receiver = await startReceiver();
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    const { exitCode, stdout } = await test([url, '--network', 'public']);
    expect({ exitCode, requests: receiver.requests.length }).toEqual({ exitCode: 1, requests: 0 });
    expect(stdout).toContain('\nUse --network allow-private to reach private addresses.');
    expect(stdout).not.toContain('`network`');
    const literal = await test([receiver.url, '--network', 'public']);
    expect(literal).toMatchObject({ exitCode: 3, stdout: '' });
    expect(literal.stderr).toContain('allow-private');
  });

  it('does not advise --network for the metadata service of a cloud, which no value allows', async () => {
    const literal = await test(['http://169.254.169.254/', '--network', 'allow-private']);
    expect(literal).toMatchObject({ exitCode: 3, stdout: '' });
    const lines = literal.stderr.trim().split('\n');
    expect(lines[0]).toMatch(/only network: 'delegated' would allow it$/);
    expect(lines[1]).toBe('This command cannot connect to such an address. Use another URL.');
    const requests = [{ failure: 'address-refused', detail: lines[0] }];
    const facts = testFacts({ ok: false, requests } as never);
    expect(facts.advice).toBe(lines[1]);
  });

  it('ends with Ctrl-C', async () => {
    await using receiver = await startReceiver({ script: [hang()] });
    const command = startCommand(['test', receiver.url], { environment: ENVIRONMENT });
    await receiver.received(1);
    command.terminal.interrupt();
    expect(await command.ended).toBe(130);
    expect(command.terminal.stdout()).toBe('');
  });

  it('prints neither the secret nor the path and query of the URL', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 500 })] });
    const { stdout, stderr } = await test([`${receiver.url}?token=hunter2`]);
    expect(stdout + stderr).not.toMatch(/hunter2|secret-of-the-test|\/hook/);
  });
});
