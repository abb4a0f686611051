import type { Instrumentation } from 'next';

export async function register(): Promise<void> {
  if (process.env['NEXT_RUNTIME'] === 'nodejs') await import('./instrumentation-node');
}

/** Next.js calls it for each request that fails with an error. */
export const onRequestError: Instrumentation.onRequestError = async (_error, request, context) => {
  if (process.env['NEXT_RUNTIME'] !== 'nodejs') return;
  const { reportFailure } = await import('./instrumentation-node');
  reportFailure(request, context.routePath);
};
