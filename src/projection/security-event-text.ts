/**
 * What security-event.ts makes, as JSON: of texts that many events share, each made and checked once, and
 * of an event's own between them. Pure; test/projection/security-event-text.test.ts holds one against the
 * other.
 */
import type { LogActor } from '../contract/index.ts';
import { type SecurityEventTexts, securityEventTexts } from '../contract/security-event-texts.ts';
import type { Service } from './security-event.ts';
import { resolvedIp } from './told-address.ts';
import type { EventWords } from './vocabulary-map.ts';

/** Of a ruleset or protection. */
export interface WordTexts {
  readonly toId: string;
  readonly toUrl: string;
  readonly toAddress: string;
}

/** Of whoever did it. */
export interface AddressTexts {
  readonly toTime: string;
  readonly rest: string;
}

/** As channel B writes it (D23), with its quotes. */
export interface TimeTexts {
  readonly occurred: string;
  readonly resolved: string;
}

export interface OwnTexts {
  readonly words: WordTexts;
  /** Absent: of nobody who is known. */
  readonly address: AddressTexts | undefined;
  readonly time: TimeTexts;
  readonly id: string;
  /** Absolute. Absent: `urn:uuid:` and the id, which is a UUID of ours. */
  readonly url: string | undefined;
}

/** Of an event that has no URL of the host's (D46). */
const URN = 'urn:uuid:';

export const urnOf = (id: string): string => `${URN}${id}`;

/** All give nothing where the whole has to be judged. */
export class SecurityEventText {
  readonly #texts: SecurityEventTexts;
  readonly #toTime: string;

  constructor(texts: SecurityEventTexts, toTime: string) {
    this.#texts = texts;
    this.#toTime = toTime;
  }

  words({ category, kind, title }: EventWords): WordTexts | undefined {
    const { event } = this.#texts;
    const [categoryText, kindText] = [event.event_category(category), event.event_kind(kind)];
    const titleText = event.humanized_description(title);
    if (!(categoryText && kindText && titleText)) return undefined;
    return {
      toId: `,"event_category":${categoryText},"event_id":`,
      toUrl: `,"event_kind":${kindText},"event_url":`,
      toAddress: `,"humanized_description":${titleText.slice(0, -1)}`,
    };
  }

  address(ip: LogActor['ip']): AddressTexts | undefined {
    const { event, ip: fields } = this.#texts;
    const told = resolvedIp(ip, '');
    const from = event.humanized_description(` from ${told.address}`);
    const address = fields.address(told.address);
    const [geo, isTor] = [fields.geo(told.geo), fields.is_tor(told.is_tor)];
    if (!(from && address && geo && isTor)) return undefined;
    return {
      toTime: `${from.slice(1)},"ips":[{"address":${address},"date_resolved":`,
      rest: `,"geo":${geo},"is_tor":${isTor}}]}`,
    };
  }

  time(at: string): TimeTexts | undefined {
    const { event, ip } = this.#texts;
    const [occurred, resolved] = [event.date_occurred(at), ip.date_resolved(at)];
    return occurred && resolved ? { occurred, resolved } : undefined;
  }

  join({ words, address, time, id, url }: OwnTexts): string | undefined {
    const { event } = this.#texts;
    // Asked each time: it is refused while a prototype is polluted, and with it all that was made before.
    const idText = event.event_id(id);
    if (idText === undefined) return undefined;
    const urlText = url === undefined ? `"${URN}${idText.slice(1)}` : event.event_url(url);
    if (urlText === undefined) return undefined;
    const told = `${this.#toTime}${time.occurred}${words.toId}${idText}${words.toUrl}${urlText}${words.toAddress}`;
    return address === undefined
      ? `${told}","ips":[]}`
      : `${told}${address.toTime}${time.resolved}${address.rest}`;
  }
}

/** Nothing where a service is to be told otherwise. Not to be asked while a prototype is polluted. */
export function securityEventText({ svc_id, name, env }: Service): SecurityEventText | undefined {
  const texts = securityEventTexts();
  const id = texts?.event.application_id(svc_id);
  const names = [texts?.event.application_name(name), texts?.event.environment(env)];
  if (!(texts && id && names.every(Boolean))) return undefined;
  const toTime = `{"application_id":${id},"application_name":${names[0]},"environment":${names[1]},"date_occurred":`;
  return new SecurityEventText(texts, toTime);
}
