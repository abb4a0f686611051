/**
 * `security-event-delivery/testing`: a test kit for programs that send or receive security events. A receiver
 * that misbehaves on demand, a fake clock, seeded random numbers, log lines in memory, and valid samples.
 */
export { type Certificate, type CertificateOptions, createCertificate } from './certificate.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export { createLineSink, type MemoryLineSink, type MemoryLineSinkOptions } from './line-sink.ts';
export type { Overrides } from './override.ts';
export type { IncomingRequest } from './received-request.ts';
export {
  type ReceivedRequest,
  type Receiver,
  type ReceiverOptions,
  startReceiver,
} from './receiver.ts';
export type { CertificateKind, ReceiverTls } from './receiver-tls.ts';
export {
  type MessageOf,
  type MessageToSendOf,
  type MessageV1Of,
  type SampleMessageType,
  type SampleOptions,
  type SamplePayloadType,
  sampleMessage,
  sampleMessageToSend,
  sampleMessageV1,
} from './sample-message.ts';
export { type RecordOf, type SampleEventName, sampleRecord } from './sample-record.ts';
export type { Script } from './script.ts';
export { createSeededRandom, type SeededRandom } from './seeded-random.ts';
export {
  type AnswerFault,
  type ConnectionFault,
  FAULTS,
  type Fault,
  type ReadingFault,
  type Reply,
  type Step,
} from './step.ts';
