import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSvcIdentifier, encodeSvcIdentifier, LogRecord } from '../../src/contract/index.ts';
import { setAt } from './cases/case.ts';
import { wellFormedText } from './cases/texts.ts';
import { SAMPLES } from './samples.ts';

const FAULT = 'The svc_identifier is not padded base64 of UTF-8 text';

describe('svc_identifier', () => {
  it.each([
    ['', ''],
    ['u-1', 'dS0x'],
    ['é', 'w6k='],
    ['a', 'YQ=='],
    ['??>', 'Pz8+'],
    ['???', 'Pz8/'],
  ])('D11 encodes %j as %j and back', (text, encoded) => {
    expect(encodeSvcIdentifier(text)).toBe(encoded);
    expect(decodeSvcIdentifier(encoded)).toBe(text);
  });

  it('D11 decodes to any encoded text, and the emitted record accepts the code', () => {
    fc.assert(
      fc.property(wellFormedText, (text) => {
        const encoded = encodeSvcIdentifier(text);
        expect(decodeSvcIdentifier(encoded)).toBe(text);
        const record = setAt(SAMPLES.login, 'context.actor.svc_identifier', encoded);
        expect(LogRecord.safeParse(record).success).toBe(true);
      }),
    );
  });

  it.each([
    ['without padding', 'YQ'],
    ['with half its padding', 'YQ='],
    ['with bits left over', 'YR=='],
    ['of the URL alphabet', 'Pz8_'],
    ['with white space', 'dS 0x'],
    ['with a line break', 'dS0x\n'],
    ['of bytes that are no UTF-8', '/w=='],
    ['of another alphabet', 'secret!'],
  ])('D11 rejects texts that encode cannot return: %s', (_what, encoded) => {
    expect(() => decodeSvcIdentifier(encoded)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_SVC_IDENTIFIER',
        input: encoded,
        message: `${FAULT}. Pass a value from \`encodeSvcIdentifier\`.`,
      }),
    );
  });

  it('D11 rejects a value that is no string', () => {
    expect(() => decodeSvcIdentifier(null as unknown as string)).toThrow(FAULT);
  });
});
