// Prints what failed in a run of the tests, from vitest's JSON report: each test with the first
// lines of its error, so that the reason stands above thousands of lines of log.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const ERROR_LINES = 6;

const [report] = process.argv.slice(2);
if (report === undefined) {
  console.error('Usage: node scripts/failed-tests.mjs <report.json>');
  process.exit(2);
}

const indent = (text) => {
  const lines = text.split('\n').slice(0, ERROR_LINES);
  return lines.map((line) => `    ${line}`).join('\n');
};

for (const file of JSON.parse(readFileSync(report, 'utf8')).testResults) {
  const name = path.relative('.', file.name);
  // A file that could not be loaded has no tests, only a message.
  if (file.status === 'failed' && file.assertionResults.length === 0) {
    console.log(`  ${name}\n${indent(file.message)}`);
  }
  for (const test of file.assertionResults) {
    if (test.status !== 'failed') continue;
    console.log(`  ${name} > ${test.fullName}\n${indent(test.failureMessages.join('\n'))}`);
  }
}
