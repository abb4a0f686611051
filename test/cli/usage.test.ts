/** Wrong usage of any command: exit code 2, and no secret is repeated. */
import { expect, test } from 'vitest';
import { runCommand } from '../helpers/terminal.ts';

const SECRET = { SECURITY_EVENTS_SECRET: 'secret-of-the-test' };
const AT_HOST = 'http://localhost/';
const CONNECTION = 'a connection string cannot be an argument';
const PORT = 'the environment variable PGPORT must be a whole number from 1 to 65535';

type Row = readonly [
  words: string,
  message: string,
  environment?: Readonly<Record<string, string>>,
];

const WRONG: readonly Row[] = [
  ['', 'no command given\nRun security-events --help.'],
  ['sing', 'unknown command sing\nDid you mean sign?'],
  ['constructor', 'unknown command constructor\nRun security-events --help.'],
  ['\u001b[31mred', 'unknown command \\u001b[31mred\n'],
  ['dead', 'dead needs a command\nRun security-events dead --help.'],
  ['dead lits', 'unknown command dead lits\nDid you mean dead list?'],
  ['sign --secret-fil x', 'unknown option --secret-fil\nDid you mean --secret-file?'],
  ['listen --prot 8080', 'unknown option --prot\nDid you mean --port?'],
  ['sign -x', 'unknown option -x\n--help lists the options.'],
  // An unknown option may be a secret.
  [`sign --${'a'.repeat(64)}`, `unknown option --${'a'.repeat(40)}\n`],
  [
    'sign --secret-file',
    '--secret-file needs a value\nIf the value starts with a dash, use --secret-file=VALUE.',
  ],
  ['listen --port -1', '--port needs a value\nIf the value starts with a dash, use --port=VALUE.'],
  ['listen --port=-1', '--port must be a whole number from 0 to 65535'],
  ['sign --help=yes', '--help takes no value\n'],
  ['sign one two', 'too many arguments: expected [FILE]'],
  ['secret one', 'too many arguments: expected none'],
  ['sign --secret=hunter2', 'a secret cannot be an argument'],
  ['sign --secret hunter2', 'a secret cannot be an argument'],
  [
    'sign',
    'no secret given\nSet SECURITY_EVENTS_SECRET, or use --secret-env NAME or --secret-file PATH. ',
    {},
  ],
  ['sign', 'no secret given', { SECURITY_EVENTS_SECRET: '' }],
  ['sign --secret-env GONE', 'the environment variable GONE is empty or not set'],
  [
    `sign --secret-env ${'a'.repeat(64)}`,
    'the environment variable named by --secret-env is empty',
  ],
  ['verify', '--signature is missing'],
  ['test', 'URL is missing'],
  ['test localhost:8080', 'The webhook URL is not usable'],
  ['test http://me:hunter2@localhost/', 'The webhook URL is not usable'],
  [`test ${AT_HOST} --format 3`, '--format must be one of: 2, 1'],
  [`test ${AT_HOST} --network delegated`, '--network must be one of: public, allow-private'],
  [`test ${AT_HOST} --deadline 5`, '--deadline needs a duration with a unit'],
  [`test ${AT_HOST} --application=`, 'An option is not usable'],
  [`test ${AT_HOST} --v1-aliases`, '--v1-aliases needs --format 1'],
  ['sign --secret-file a --secret-file b', 'give --secret-file once'],
  ['sign --secret-env A --secret-env B', 'give --secret-env once'],
  [
    `test ${AT_HOST} --secret-env A --secret-file b`,
    'give --secret-env or --secret-file, not both',
  ],
  [`send ${AT_HOST} --retries 5`, '--retries needs a duration with a unit'],
  [`send ${AT_HOST} --retries=`, '--retries needs durations such as 500ms,2s,5s, or none'],
  [`send ${AT_HOST} --retries 1s,25d`, '--retries allows waits of at most 24d'],
  [`send ${AT_HOST} --deadline 0s`, '--deadline must be from 1ms to 24d'],
  [`test ${AT_HOST} --deadline 25d`, '--deadline must be from 1ms to 24d'],
  ['validate --as event', '--as must be one of: record, line, message, message-v1, body, body-v1'],
  ['validate --dialect loose', '--dialect must be one of: strict, open'],
  ['validate --reading sent', '--reading must be one of: emitted, received'],
  ['listen --port 65536', '--port must be a whole number from 0 to 65535'],
  ['listen --host=', '--host needs an address or a name'],
  ['listen --ui --host 192.0.2.1', '--ui is for this machine only'],
  ['listen --fail 503,99', '--fail needs statuses from 200 to 599'],
  ['listen --fail 503+,200', '--fail needs statuses from 200 to 599'],
  [`listen --fail 503 --forward ${AT_HOST}`, 'give --fail or --forward, not both'],
  ['listen --delay 2', '--delay needs a duration with a unit'],
  ['listen --delay 61m', '--delay must be at most 1h'],
  ['listen --forward localhost:3000', '--forward needs an http or https URL'],
  ['listen --forward http://me:hunter2@localhost/', '--forward must not contain credentials'],
  ['listen --count 0', '--count must be a whole number from 1'],
  ['dead list', 'no queue given'],
  ['dead list --sqlite x --postgres', 'give --sqlite or --postgres, not both'],
  ['dead list --sqlite x --schema y', '--schema needs --postgres'],
  ['dead list --sqlite x --transaction-pooling', '--transaction-pooling needs --postgres'],
  ['dead list --sqlite x --application=', '--application is empty'],
  ['dead list --sqlite x --reason late', '--reason must be one of: attempts-exhausted, horizon-'],
  ['dead list --sqlite x --since 12', '--since needs a duration with a unit'],
  ['dead list --sqlite x --limit 0', '--limit must be a whole number from 1 to 1000000000'],
  ['dead show --sqlite x', 'ID is missing'],
  ['dead replay --sqlite x', 'nothing selected'],
  ['dead purge --sqlite x --limit 5', 'nothing selected'],
  ['dead purge --sqlite x --all --application shop-1', 'give --all or a selection, not both'],
  ['dead replay 1 --sqlite x --limit 5', 'give ids or --limit, not both'],
  ['dead show postgres://u:hunter2@db/x --postgres', CONNECTION],
  ['dead replay --postgres POSTGRESQL://u:hunter2@db/x', CONNECTION],
  ['dead show 17 --sqlite postgres://u:hunter2@db/x', CONNECTION],
  ['dead list --postgres=postgres://u:hunter2@db/x', '--postgres takes no value\n'],
  [
    'listen --port 0',
    'The webhook secret is not usable: it consists of white space\n',
    { SECURITY_EVENTS_SECRET: ' ' },
  ],
  ['dead list --postgres', PORT, { PGPORT: '0' }],
  ['dead list --postgres', PORT, { PGPORT: '65536' }],
  ['dead list --postgres', '', { DATABASE_URL: 'postgresql://u:hunter2@db:99999999/x' }],
];

test.each(WRONG.map(([words, message, environment = SECRET]) => ({ words, message, environment })))(
  '$words: $message',
  async ({ words, message, environment }) => {
    const given = words.split(' ').filter(Boolean);
    const { exitCode, stdout, stderr } = await runCommand(given, { environment });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr.slice(0, 17 + message.length)).toBe(`security-events: ${message}`);
    expect(stderr).not.toMatch(/hunter2|secret-of-the-test/);
  },
);
