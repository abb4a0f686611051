// Prints the failed tests of vitest's JSON report, each with the first lines of its error, then the causes of
// the errors, which are hard to find in thousands of log lines.
// If no test failed, or there is no report, prints the lines of the log that explain why the run failed.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { causesIn, reasonsIn } from './reasons-in-log.mjs';

const ERROR_LINES = 6;

const [report, log] = process.argv.slice(2);
if (report === undefined || log === undefined) {
  console.error('Usage: node scripts/failed-tests.mjs <report.json> <log>');
  process.exit(2);
}

const indent = (text) => {
  const lines = text.split('\n').slice(0, ERROR_LINES);
  return lines.map((line) => `    ${line}`).join('\n');
};

/** Returns the failures of a test file. A file that could not be loaded has no tests, only a message. */
function failuresIn({ name, status, message, assertionResults }) {
  const file = path.relative('.', name);
  if (status === 'failed' && assertionResults.length === 0)
    return [`  ${file}\n${indent(message)}`];
  return assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => `  ${file} > ${test.fullName}\n${indent(test.failureMessages.join('\n'))}`);
}

const results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
const failures = results.flatMap(failuresIn);
for (const failure of failures) console.log(failure);
const text = readFileSync(log, 'utf8');
const hasFailures = failures.length > 0;
if (!hasFailures) console.log('  no test failed; from the log:');
for (const line of hasFailures ? causesIn(text) : reasonsIn(text)) console.log(`    ${line}`);
