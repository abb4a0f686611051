import type { NextConfig } from 'next';

const config: NextConfig = { serverExternalPackages: ['security-event-delivery'] };
export default config;
