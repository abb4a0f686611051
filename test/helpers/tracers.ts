/** Real tracers, for programs of test/fixtures. */

/** Loads and starts dd-trace, so that it sends nothing during a test. */
export async function startDatadog() {
  const { default: tracer } = await import('dd-trace');
  return tracer.init({
    startupLogs: false,
    remoteConfig: { pollInterval: 3600 },
    flushInterval: 3_600_000,
  });
}
