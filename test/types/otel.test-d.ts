/** Types of `registerMetrics`. */
import { metrics } from '@opentelemetry/api';
import { createWebhookSender } from '../../src/index.ts';
import { type MetricsOptions, registerMetrics } from '../../src/otel/index.ts';

const sender = createWebhookSender({ settings: { applications: {} } });
const options: MetricsOptions = { senders: { main: sender }, applicationClass: ['shop-1'] };

export const stop: () => void = registerMetrics(metrics.getMeterProvider(), options);
registerMetrics(metrics.getMeterProvider(), { applicationClass: (id) => id.slice(0, 4) });
// @ts-expect-error a class is a string
registerMetrics(metrics.getMeterProvider(), { applicationClass: () => 1 });
// @ts-expect-error a meter is no provider
registerMetrics(metrics.getMeter('shop'));
