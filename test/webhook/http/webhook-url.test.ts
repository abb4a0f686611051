import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseWebhookUrl } from '../../../src/webhook/http/webhook-url.ts';
import { thrownBy } from '../../helpers/thrown-by.ts';

const errorOf = (text: unknown) => thrownBy(() => parseWebhookUrl(text as string));

describe('parseWebhookUrl', () => {
  test.each([
    'https://hooks.example.com/',
    'https://hooks.example.com/in/',
    'http://hooks.example.com:8080/a%2Fb/?token=a+b&c=%20#part',
    'http://127.0.0.1:3000/hook',
    'https://[2001:db8::1]/hook',
  ])('accepts %s unchanged (D33)', (text) => {
    const url = parseWebhookUrl(text);
    expect(url).toBeInstanceOf(URL);
    expect(url.href).toBe(text);
  });

  test.each([
    '',
    'https://',
    'ftp://hooks.example.com/',
    'javascript:alert(1)',
    'https://user:password@hooks.example.com/',
    undefined,
    new URL('https://hooks.example.com/'),
  ])('rejects %s', (text) => {
    expect(errorOf(text)).toMatchObject({ code: 'ERR_INVALID_URL', path: ['url'] });
  });

  test.each([
    'https://user:hunter2@hooks.example.com/?token=hunter2',
    'ftp://hooks.example.com/?token=hunter2',
    'https://exa mple.com/?token=hunter2',
  ])('keeps the contents of %s out of the error', (text) => {
    expect(inspect(errorOf(text), { depth: null, showHidden: true })).not.toContain('hunter2');
  });
});
