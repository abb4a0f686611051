import { createWebhookReceiver, fetchHandler } from 'security-event-delivery/receiver';

const receiver = createWebhookReceiver({
  secret: 'a shared secret', // in your program: from the environment
  onMessages: (messages) => {
    for (const { format, message } of messages) {
      if (format === 2) console.log(message.message_type);
    }
  },
});

export const POST = fetchHandler(receiver);
