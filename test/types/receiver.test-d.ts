import { createServer } from 'node:http';
import http2 from 'node:http2';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expectTypeOf } from 'vitest';
import {
  createWebhookReceiver,
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
  parseBody,
} from '../../src/receiver/index.ts';

const receiver = createWebhookReceiver({
  secret: 'a',
  onMessages: (messages) => {
    for (const { format, isKnownType, message } of messages) {
      if (format === 1) {
        if (message.svc_payload_type === 'pulse') expectTypeOf(message.id).toEqualTypeOf<string>();
        continue;
      }
      expectTypeOf(message.retry_count).toEqualTypeOf<number>();
      if (!isKnownType) {
        expectTypeOf(message.message_type).toEqualTypeOf<string>();
      } else if (message.message_type === 'security_response') {
        expectTypeOf(message.message.playbook.id).toEqualTypeOf<string>();
      }
    }
  },
});

createServer(nodeHandler(receiver));
http2.createServer(nodeHandler(receiver));
express().post('/', expressHandler(receiver));
void fastify().register(fastifyPlugin(receiver), { prefix: '/hooks', path: '/security' });
const handle = fetchHandler(receiver);
new Hono().post('/', (context) => handle(context.req.raw));

// @ts-expect-error nothing handles the messages
createWebhookReceiver({ secret: 'a' });
// @ts-expect-error a body is text or bytes
parseBody({});
// @ts-expect-error one of two words
createWebhookReceiver({ secret: 'a', onMessages: () => {}, answer: 'later' });
