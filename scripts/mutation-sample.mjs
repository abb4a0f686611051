/**
 * Mutates random lines of the areas in test/mutation-scores.json, and compares the share of mutants that the tests
 * kill with the recorded share: `npm run test:mutation -- [areas…] [--mutants 200] [--seed 1]`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

/** Stryker accepts line ranges, not single mutants. */
const BLOCK_LINES = 8;

/** Sampling error of 200 mutants, in percentage points. */
const TOLERANCE = 4;

const FOUND = ['Killed', 'Timeout'];
const MISSED = ['Survived', 'NoCoverage'];

const AREAS = JSON.parse(readFileSync('test/mutation-scores.json', 'utf8'));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mutants: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
});

/** Mulberry32: a seeded random number generator. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => path.join(folder, name))
    .filter((file) => file.endsWith('.ts') && !/\.(?:generated|d)\.ts$/.test(file))
    .toSorted();

const isCode = (line) => /\w/.test(line) && !/^\s*(?:\/\/|\/?\*|import |export type )/.test(line);

function blocksOf(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((_, index) => {
    if (index % BLOCK_LINES !== 0) return [];
    const codeLines = lines.slice(index, index + BLOCK_LINES).filter(isCode).length;
    return { range: `${file}:${index + 1}-${index + BLOCK_LINES}`, codeLines };
  });
}

/** Draws random blocks until they have one line of code per wanted mutant: a line has about one. */
function drawRanges(folders) {
  const random = randomOf(Number(values.seed));
  const blocks = folders.flatMap(filesOf).flatMap(blocksOf);
  const drawn = blocks
    .map((block) => ({ ...block, order: random() }))
    .toSorted((a, b) => a.order - b.order);
  let lines = 0;
  return drawn.flatMap(({ range, codeLines }) => {
    if (lines >= Number(values.mutants)) return [];
    lines += codeLines;
    return range;
  });
}

/** Runs Stryker on a sample and returns the mutants of its report. */
function mutate({ sources, tests, coverage }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mutants-'));
  const config = path.join(folder, 'stryker.config.json');
  const report = path.join(folder, 'report.json');
  const common = JSON.parse(readFileSync('stryker.config.json', 'utf8'));
  const sample = {
    ...common,
    mutate: drawRanges(sources),
    coverageAnalysis: coverage,
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: report },
    tempDirName: path.join(folder, 'sandboxes'),
  };
  writeFileSync(config, JSON.stringify(sample));
  const env = { ...process.env, MUTATED_TESTS: tests.join(' ') };
  spawnSync('npx', ['stryker', 'run', config], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const { files } = JSON.parse(readFileSync(report, 'utf8'));
  return Object.entries(files).flatMap(([file, { mutants }]) =>
    mutants.map((mutant) => ({ ...mutant, file })),
  );
}

for (const name of positionals.length > 0 ? positionals : Object.keys(AREAS)) {
  const mutants = mutate(AREAS[name]);
  const count = (statuses) => mutants.filter(({ status }) => statuses.includes(status)).length;
  for (const { file, location, mutatorName, replacement, status } of mutants) {
    if (!MISSED.includes(status)) continue;
    console.log(`  survived: ${file}:${location.start.line} ${mutatorName} ${replacement ?? ''}`);
  }
  const total = count([...FOUND, ...MISSED]);
  const score = (100 * count(FOUND)) / total;
  const { recorded } = AREAS[name];
  const isLower = !(score >= recorded - TOLERANCE);
  if (isLower) process.exitCode = 1;
  console.log(
    `${isLower ? 'FAIL' : 'ok  '}  ${name}: ${score.toFixed(1)} % of ${total} mutants, recorded ${recorded} %`,
  );
}
