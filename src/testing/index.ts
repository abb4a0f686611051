/**
 * `security-event-delivery/testing`: a test kit for programs that send or receive security events. A receiver
 * that misbehaves on demand, a fake clock, log lines in memory, and valid samples.
 */
export { FAULTS } from './answer.ts';
export {
  type Certificate,
  type CertificateKind,
  type CertificateOptions,
  createCertificate,
  type ReceiverTls,
} from './certificate.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export { createLineSink, type MemoryLineSink, type MemoryLineSinkOptions } from './line-sink.ts';
export type { IncomingRequest } from './received-request.ts';
export {
  type ReceivedRequest,
  type Receiver,
  type ReceiverOptions,
  startReceiver,
} from './receiver.ts';
export {
  type MessageOf,
  type MessageToSendOf,
  type MessageV1Of,
  type Overrides,
  type RecordOf,
  type SampleEventName,
  type SampleMessageType,
  type SamplePayloadType,
  sampleMessage,
  sampleMessageToSend,
  sampleMessageV1,
  sampleRecord,
} from './samples.ts';
export type { Script } from './script.ts';
export type {
  AnswerFault,
  ConnectionFault,
  Fault,
  ReadingFault,
  Reply,
  Step,
} from './step.ts';
