/** The facts of an address that is given as text. */
import { normaliseAddress } from '../address/normalise.ts';
import { describeNormal } from '../capture/describe-address.ts';
import type { Enrichment } from '../capture/enrichers.ts';
import type { LogActor } from '../contract/index.ts';

/** `undefined` for text that is no address. */
export function described(
  address: string,
  enrichment: Enrichment | undefined,
): LogActor['ip'] | undefined {
  const normal = normaliseAddress(address);
  return normal === undefined ? undefined : describeNormal(normal, enrichment);
}
