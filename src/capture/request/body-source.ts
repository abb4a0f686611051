/** Chooses the contract's group of parameters for a parsed body. */
import { types } from 'node:util';

const FORMS = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;

/** Returns `application/json` for `application/JSON; charset=utf-8` (RFC 9110 section 8.3.1). */
function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Returns `undefined` for a type that is neither a form nor JSON. */
export function bodyKindOf(contentType: string | undefined): 'form' | 'json' | undefined {
  const mediaType = mediaTypeOf(contentType);
  if (FORMS.has(mediaType)) return 'form';
  return JSON_TYPE.test(mediaType) ? 'json' : undefined;
}

/** Groups a body by its media type. `rest` is any other body, such as raw text, or one without a type. */
export function bodySource(
  body: unknown,
  contentType: string | undefined,
): Readonly<Record<'form' | 'json' | 'rest', unknown>> {
  const kind = bodyKindOf(contentType);
  const given = isPlaceholder(body, contentType) ? undefined : (body ?? undefined);
  return {
    form: kind === 'form' ? given : undefined,
    json: kind === 'json' ? given : undefined,
    rest: kind === undefined ? given : undefined,
  };
}

/** The parsers of Express 4 set an empty object on requests without a body. */
function isPlaceholder(body: unknown, contentType: string | undefined): boolean {
  if (contentType !== undefined || typeof body !== 'object' || body === null) return false;
  if (types.isProxy(body) || Object.getPrototypeOf(body) !== Object.prototype) return false;
  return Object.keys(body).length === 0;
}
