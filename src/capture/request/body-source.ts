/** Which of the contract's parameters a parsed body is (D9). */
import { types } from 'node:util';

const FORMS = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;

/** `application/json` of `application/JSON; charset=utf-8` (RFC 9110 8.3.1). */
function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** `undefined`: neither a form nor JSON. */
export function bodyKindOf(contentType: string | undefined): 'form' | 'json' | undefined {
  const mediaType = mediaTypeOf(contentType);
  if (FORMS.has(mediaType)) return 'form';
  return JSON_TYPE.test(mediaType) ? 'json' : undefined;
}

/**
 * Where a body belongs, by its media type. What is neither a form nor JSON, raw text for one, stands
 * in `other` under `body`; so does what a parser left without naming the type.
 */
export function bodySource(
  body: unknown,
  contentType: string | undefined,
): Readonly<Record<'form' | 'json' | 'rest', unknown>> {
  const kind = bodyKindOf(contentType);
  const given = isOfNoBody(body, contentType) ? undefined : (body ?? undefined);
  return {
    form: kind === 'form' ? given : undefined,
    json: kind === 'json' ? given : undefined,
    rest: kind === undefined ? given : undefined,
  };
}

/** What the parsers of Express 4 leave in requests without a body. */
function isOfNoBody(body: unknown, contentType: string | undefined): boolean {
  if (contentType !== undefined || typeof body !== 'object' || body === null) return false;
  if (types.isProxy(body) || Object.getPrototypeOf(body) !== Object.prototype) return false;
  return Object.keys(body).length === 0;
}
