/**
 * The fast path of channel B: of what an attack or exploit is told there, only ids and times are its own.
 * The rest is the reporter's, its word's and its address's, whose JSON is made and checked once, and the
 * sender does not read what is joined again. What needs a choice, or a sender of another make, goes the
 * plain way, by message-for.ts; test/reporter/quick-message.test.ts holds one against the other.
 *
 * Making the message as an object, and checking and serialising that, took a quarter of what an event costs.
 */
import { inheritedKey } from '../contract/own-keys.ts';
import { CheckedDraft } from '../delivery/validated-message.ts';
import {
  type SecurityEventText,
  securityEventText,
  type TimeTexts,
  type WordTexts,
} from '../projection/security-event-text.ts';
import { eventWords } from '../projection/vocabulary-map.ts';
import type { QuickDraft } from './event-draft.ts';
import type { EventKind } from './event-input.ts';
import { MESSAGE_TYPES, type MessageRules } from './message-for.ts';

/** Those of protections are the host's own: so many are more than any has. */
const MAX_WORDS = 200;

/** By what a payload names what has found the event. */
const WORD_KEYS: ReadonlyMap<EventKind, string> = new Map([
  ['attack', 'ruleset'],
  ['vulnerabilityExploit', 'protection'],
]);

const makerOf = ({ service }: MessageRules): SecurityEventText | false =>
  securityEventText(service) ?? false;

export class QuickMessages {
  readonly #rules: MessageRules;
  /** `false`: nothing is told quickly. Absent: a prototype was polluted when it should have been made. */
  #maker: SecurityEventText | false | undefined;
  readonly #words = new Map<string, WordTexts | undefined>();
  #time: { readonly at: string; readonly texts: TimeTexts | undefined } | undefined;

  constructor(rules: MessageRules) {
    this.#rules = rules;
    // Ahead, since it takes milliseconds: at the first event, it would be the host's request that waits.
    if (inheritedKey() === undefined) this.#maker = makerOf(rules);
  }

  /** Nothing where the plain way has to be gone. */
  of(kind: EventKind, { payload, known, occurredAt }: QuickDraft): CheckedDraft | undefined {
    const { service, newId, urlOf, hasUrls } = this.#rules;
    // A draft is made quickly only while no prototype is polluted. That says nothing of now: the host's
    // `write`, `platform` and `activeSpan` ran since. What guards the message is that each text is refused
    // while one is, and that `join` asks for that of the id each time, whatever else is known already.
    this.#maker ??= makerOf(this.#rules);
    const maker = this.#maker;
    const key = WORD_KEYS.get(kind);
    const word = key === undefined ? undefined : payload[key];
    if (maker === false || typeof word !== 'string') return undefined;
    const words = this.#wordsOf(word, maker);
    const time = this.#timeOf(occurredAt, maker);
    const { actor } = known;
    if (actor !== undefined) known.address ??= maker.address(actor.ip) ?? false;
    const { address } = known;
    if (words === undefined || time === undefined || address === false) return undefined;
    const id = newId();
    const url = hasUrls ? urlOf(id) : undefined;
    const message = maker.join({ words, address, time, id, url });
    if (message === undefined) return undefined;
    const messageType = MESSAGE_TYPES.get(kind) as string;
    return new CheckedDraft({
      messageId: newId(),
      messageType,
      message,
      application: service.svc_id,
    });
  }

  #wordsOf(word: string, maker: SecurityEventText): WordTexts | undefined {
    if (this.#words.has(word)) return this.#words.get(word);
    const words = maker.words(eventWords(word, this.#rules.eventWords));
    if (this.#words.size < MAX_WORDS) this.#words.set(word, words);
    return words;
  }

  #timeOf(at: string, maker: SecurityEventText): TimeTexts | undefined {
    if (this.#time?.at !== at) this.#time = { at, texts: maker.time(at) };
    return this.#time.texts;
  }
}
