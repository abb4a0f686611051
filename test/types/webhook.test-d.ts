/** Types of `sendWebhook`. */
import {
  type MessageToSend,
  type SendOptions,
  type SendReport,
  sendWebhook,
  sign,
  verify,
} from '../../src/index.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

same<Equal<IsAny<SendReport>, false>>();
same<Equal<IsAny<MessageToSend>, false>>();
same<Equal<IsAny<MessageToSend<'strict', 1>>, false>>();
same<Equal<IsAny<NonNullable<SendOptions['dispatcher']>>, false>>();

const destination = { url: 'https://receiver.example', secret: 'key' };

declare const v2: MessageToSend;
declare const v1: MessageToSend<'strict', 1>;
declare const open: MessageToSend<'open'>;

export async function takesTheFormatThatTheOptionsName(): Promise<SendReport[]> {
  same<Equal<Awaited<ReturnType<typeof sendWebhook>>, SendReport>>();
  return [
    await sendWebhook(destination, [v2]),
    await sendWebhook(destination, [v2], { format: 2, schedule: { delaysMs: [] } }),
    await sendWebhook(destination, [v1], { format: 1 }),
    await sendWebhook(destination, [open], { dialect: 'open' }),
    // @ts-expect-error an element of format 1 without saying so
    await sendWebhook(destination, [v1]),
    // @ts-expect-error a message of format 2 as v1
    await sendWebhook(destination, [v2], { format: 1 }),
    // @ts-expect-error an option that does not exist
    await sendWebhook(destination, [v2], { retries: 3 }),
    // @ts-expect-error a destination without a secret
    await sendWebhook({ url: destination.url }, [v2]),
    // @ts-expect-error a network policy that does not exist
    await sendWebhook(destination, [v2], { network: 'private' }),
  ];
}

/** Its `reason` and `outcome` are closed vocabularies; `status` is absent where nothing answered. */
export function readsAReport({ requests, undelivered }: SendReport): number {
  const [request] = requests;
  same<Equal<typeof request, SendReport['requests'][number] | undefined>>();
  // @ts-expect-error there may be no answer
  const status: number = request?.status;
  // @ts-expect-error not a reason
  if (undelivered[0]?.reason === 'tired') return 0;
  return status;
}

export const signature: string = sign(new Uint8Array(), 'key');
export const isGenuine: boolean = verify('[]', undefined, ['new', 'old']);
