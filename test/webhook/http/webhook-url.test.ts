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
    ['', 'it must be an absolute URL'],
    ['https://', 'it must be an absolute URL'],
    ['ftp://hooks.example.com/', 'its scheme must be http or https'],
    ['javascript:alert(1)', 'its scheme must be http or https'],
    ['https://user:password@hooks.example.com/', 'it must not hold credentials'],
    [undefined, 'it must be a string'],
    [new URL('https://hooks.example.com/'), 'it must be a string'],
  ])('rejects %s: %s', (text, reason) => {
    const error = errorOf(text);
    expect(error.code).toBe('ERR_INVALID_URL');
    expect(error.path).toEqual(['url']);
    expect(error.message).toBe(
      `The webhook URL is not usable: ${reason}. Give an absolute http or https URL without credentials.`,
    );
  });

  test.each([
    'https://user:hunter2@hooks.example.com/?token=hunter2',
    'ftp://hooks.example.com/?token=hunter2',
    'https://exa mple.com/?token=hunter2',
  ])('keeps the contents of %s out of the error', (text) => {
    expect(inspect(errorOf(text), { depth: null, showHidden: true })).not.toContain('hunter2');
  });
});
