export const dynamic = 'force-dynamic'; // not called by the build

export const GET = (): Response => {
  throw new Error('out of stock');
};
