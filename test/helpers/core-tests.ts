/**
 * Whether only the tests of the core run (`npm run test:core`): the package, the contract, addresses,
 * the log writer and direct sending. What pages and examples show beside it is for `npm test`.
 */
export const isCoreOnly = process.env['CORE_TESTS'] === '1';
