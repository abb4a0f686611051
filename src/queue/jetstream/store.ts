/** Streams and buckets by the engine's own protocol: many requests under way cost one subscription. */
import { isMissing, isOutrun, Refusal } from './jetstream-failure.ts';
import type { Asking, Link, Requests } from './link.ts';
import type { NatsHeaders, NatsMessage, StreamInfo } from './nats.ts';
import { type Patience, patiently } from './patience.ts';
import { ReadGate } from './read-gate.ts';

/** The one header of ours: what is told of a message, as JSON in ASCII. */
export const TOLD = 'Told';

const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';
const MESSAGE_ID = 'Nats-Msg-Id';

export interface Publication {
  readonly subject: string;
  readonly body: Uint8Array;
  /** See {@link TOLD}. */
  readonly told?: string;
  /** In its place where it may be there already: it may have been sent by then, and forgotten. */
  readonly toldInDoubt?: () => string;
  /** Deduplicates what is sent again, or by another process. */
  readonly messageId: string;
  /** Only where this is the subject's last sequence; 0: where it has none. */
  readonly lastSequence?: number;
}

export interface Kept {
  readonly sequence: number;
  readonly subject: string;
  /** When the server stored it, by its clock. */
  readonly storedMs: number;
  readonly told: string;
  readonly body: Buffer;
}

interface Answer {
  readonly error?: {
    readonly err_code?: number;
    readonly code?: number;
    readonly description?: string;
  };
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly purged?: number;
  readonly stream?: string;
  readonly message?: {
    readonly seq: number;
    readonly subject: string;
    readonly time: string;
    readonly hdrs?: string;
    readonly data?: string;
  };
}

function answerOf({ data }: NatsMessage): Answer {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
  const answer = JSON.parse(text) as Answer;
  const { error } = answer;
  if (error === undefined) return answer;
  throw new Refusal(error.err_code ?? error.code ?? 0, error.description ?? '');
}

/** Not where its id is known and it is under way: that may come to nothing when the leader changes. */
function isOver(message: NatsMessage): boolean {
  const { seq = 0, duplicate } = answerOf(message);
  return seq > 0 || duplicate !== true;
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** So many bytes of an answer for one that is stored: it comes in base64. */
const ANSWERED_SHARE = 4 / 3;

type Pass = (ask: () => Promise<NatsMessage>) => Promise<NatsMessage>;

const atOnce: Pass = (ask) => ask();

export interface Surroundings extends Patience {
  /** The longest message that the server takes. */
  readonly maxPayload: number;
  /** What a stamp of the server's means. */
  readonly stamp: (stampMs: number) => number;
}

export class Store {
  readonly #requests: Requests;
  readonly #link: Link;
  readonly #surroundings: Surroundings;
  readonly #gates = new Map<string, ReadGate>();

  constructor(requests: Requests, link: Link, surroundings: Surroundings) {
    this.#requests = requests;
    this.#link = link;
    this.#surroundings = surroundings;
  }

  /** One each: a stream that does not answer holds up nobody who reads another one. */
  #gate(stream: string): ReadGate {
    let gate = this.#gates.get(stream);
    if (gate === undefined) {
      const { clock, callTimeoutMs, maxPayload } = this.#surroundings;
      const largestBytes = maxPayload * ANSWERED_SHARE;
      gate = new ReadGate({ clock, callTimeoutMs, largestBytes });
      this.#gates.set(stream, gate);
    }
    return gate;
  }

  /** Resolves to its sequence; with `messageId` also where it had been stored before. */
  async publish(publication: Publication): Promise<number> {
    return (await this.#published(publication)).seq ?? 0;
  }

  async #published(publication: Publication): Promise<Answer> {
    const { subject, body } = publication;
    let wasInDoubt = false;
    const headers = (isInDoubt: boolean): NatsHeaders => {
      wasInDoubt ||= isInDoubt;
      return this.#headersOf(publication, wasInDoubt);
    };
    return await this.#answered(subject, body, { headers, isRepeatable: true, isAnswer: isOver });
  }

  /** A server that is about to have a leader says so: asked again. */
  async #answered(subject: string, payload: Uint8Array | string, asking: Asking): Promise<Answer> {
    return await patiently(this.#surroundings, async () =>
      answerOf(await this.#requests.ask(subject, payload, asking)),
    );
  }

  #headersOf(
    { told, toldInDoubt, messageId, lastSequence }: Publication,
    isInDoubt: boolean,
  ): NatsHeaders {
    const headers = this.#link.newHeaders();
    const words = isInDoubt ? (toldInDoubt?.() ?? told) : told;
    if (words !== undefined) headers.set(TOLD, words);
    headers.set(MESSAGE_ID, messageId);
    if (lastSequence !== undefined) headers.set(EXPECTED, `${lastSequence}`);
    return headers;
  }

  /**
   * As {@link publish}, where `lastSequence` is the last one still; `undefined`: it is another one.
   *
   * The leader of a replicated stream compares an expectation above 0 with what it has applied, not with
   * what is under way (measured with 2.9.10: two writers won a third of all races). Ids that are
   * under way it does know: so all who expect the same write under the same id, and one of them wins.
   */
  async replace(
    publication: Publication & { readonly lastSequence: number },
  ): Promise<number | undefined> {
    const { subject, lastSequence, messageId } = publication;
    if (lastSequence === 0) return await this.#expecting(() => this.publish(publication));
    const write = { ...publication, messageId: `${subject}.${lastSequence}`, told: messageId };
    return await this.#expecting(async () => {
      const { seq = 0, duplicate, stream = '' } = await this.#published(write);
      if (duplicate !== true) return seq;
      // Another one's, or this very one, whose answer was lost.
      const last = await this.last(stream, subject);
      return last?.sequence === seq && last.told === messageId ? seq : undefined;
    });
  }

  async #expecting(write: () => Promise<number | undefined>): Promise<number | undefined> {
    try {
      return await write();
    } catch (error) {
      if (isOutrun(error)) return undefined;
      throw error;
    }
  }

  /**
   * From whichever server has it: it may be gone since, or not have come there yet. `sizeBytes`: of what is stored,
   * where that is known: more are read at once then, or fewer.
   */
  async glance(stream: string, sequence: number, sizeBytes?: number): Promise<Kept | undefined> {
    const subject = `$JS.API.DIRECT.GET.${stream}`;
    const payload = JSON.stringify({ seq: sequence });
    const ask = () => this.#requests.ask(subject, payload, { isRepeatable: true });
    const { headers, data } = await this.#gate(stream).pass(ask, sizeBytes);
    if (headers === undefined || headers.code !== 0) return undefined;
    return {
      sequence: Number(headers.get('Nats-Sequence')),
      subject: headers.get('Nats-Subject'),
      storedMs: this.#surroundings.stamp(Date.parse(headers.get('Nats-Time-Stamp'))),
      told: headers.get(TOLD),
      body: bufferOf(data),
    };
  }

  /** As the stream's leader has it; `sizeBytes` as of {@link glance}. */
  get(stream: string, sequence: number, sizeBytes?: number): Promise<Kept | undefined> {
    const bytes = sizeBytes === undefined ? undefined : sizeBytes * ANSWERED_SHARE;
    const gate = this.#gate(stream);
    return this.#got(stream, { seq: sequence }, (ask) => gate.pass(ask, bytes));
  }

  last(stream: string, subject: string): Promise<Kept | undefined> {
    return this.#got(stream, { last_by_subj: subject });
  }

  /** The first of the subject from `sequence` on; it may hold wildcards. */
  next(stream: string, subject: string, sequence: number): Promise<Kept | undefined> {
    return this.#got(stream, { next_by_subj: subject, seq: sequence });
  }

  async #got(stream: string, query: object, pass: Pass = atOnce): Promise<Kept | undefined> {
    const subject = `$JS.API.STREAM.MSG.GET.${stream}`;
    const payload = JSON.stringify(query);
    const ask = () => this.#requests.ask(subject, payload, { isRepeatable: true });
    try {
      const { message } = await patiently(this.#surroundings, async () =>
        answerOf(await pass(ask)),
      );
      if (message === undefined) return undefined;
      return {
        sequence: message.seq,
        subject: message.subject,
        storedMs: this.#surroundings.stamp(Date.parse(message.time)),
        told: toldIn(message.hdrs),
        body: Buffer.from(message.data ?? '', 'base64'),
      };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Whether it was there. */
  async delete(stream: string, sequence: number): Promise<boolean> {
    const subject = `$JS.API.STREAM.MSG.DELETE.${stream}`;
    const payload = JSON.stringify({ seq: sequence, no_erase: true });
    try {
      await this.#answered(subject, payload, { isRepeatable: true });
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** All of the subject before `sequence`; how many that were, which may be none though some are there (2.9.10). */
  async purge(stream: string, subject: string, sequence: number): Promise<number> {
    const payload = JSON.stringify({ filter: subject, seq: sequence });
    const asked = `$JS.API.STREAM.PURGE.${stream}`;
    const { purged = 0 } = await this.#answered(asked, payload, { isRepeatable: true });
    return purged;
  }

  /** How many messages each subject has, by its name. */
  async counts(stream: string, filter: string): Promise<Map<string, number>> {
    const { subjects = {} } = await this.state(stream, filter);
    return new Map(Object.entries(subjects));
  }

  /** As the stream's leader has it; the subjects only of those that are asked for. */
  async state(stream: string, subjects?: string): Promise<StreamInfo['state']> {
    const { streams } = this.#link.manager;
    const options = subjects === undefined ? undefined : { subjects_filter: subjects };
    const info = await patiently(this.#surroundings, () => streams.info(stream, options));
    return info.state;
  }
}

const LINE = new RegExp(`^${TOLD}: ?(.*)$`, 'im');

const toldIn = (headers: string | undefined): string =>
  headers === undefined
    ? ''
    : (LINE.exec(Buffer.from(headers, 'base64').toString().replaceAll('\r', ''))?.[1] ?? '');
