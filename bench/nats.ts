/** For those rows that need it a cluster of three servers: what they measure finds it in the environment. */
export async function withNats<T>(isNeeded: boolean, work: () => Promise<T>): Promise<T> {
  if (!isNeeded) return await work();
  const { NatsCluster } = await import('../test/helpers/nats-cluster.ts');
  const cluster = await NatsCluster.start();
  process.stderr.write('three NATS servers, as they come, on this machine\n');
  process.env['BENCH_NATS'] = cluster.addresses.join();
  try {
    return await work();
  } finally {
    await cluster.stop();
  }
}
