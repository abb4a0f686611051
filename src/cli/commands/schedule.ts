import { explainSchedule, type ScheduleToExplain } from '../../index.ts';
import { defineCommand, type OptionTable, type OptionValues } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { durationOf, wordOf } from '../option-values.ts';
import { scheduleTable } from '../schedule-table.ts';

const OPTIONS = {
  of: {
    type: 'string',
    value: 'WHOSE',
    what: 'whose defaults complete it: durable, memory or sendWebhook (durable)',
  },
  delays: {
    type: 'string',
    value: 'TIMES',
    what: 'delaysMs: the wait after each failure, as 500ms,2s,5m; --delays= for no retry',
  },
  'repeat-last': {
    type: 'boolean',
    what: 'repeatLast: goes on with the last delay until the horizon',
  },
  horizon: {
    type: 'string',
    value: 'TIME',
    what: 'horizonMs: how long after its acceptance a message is sent at all',
  },
  'max-wait': {
    type: 'string',
    value: 'TIME',
    what: 'maxWaitMs: a longer wait is not waited: the message is given up',
  },
  json: { type: 'boolean', what: 'prints what explainSchedule() gives: times in milliseconds' },
} as const satisfies OptionTable;

type Options = OptionValues<typeof OPTIONS>;

function delaysOf(text: string): number[] {
  return text === '' ? [] : text.split(',').map((delay) => durationOf('delays', delay.trim()));
}

function scheduleOf(options: Options): ScheduleToExplain {
  const { of = 'durable', delays, horizon, 'max-wait': maxWait } = options;
  return {
    of: wordOf('of', of, ['durable', 'memory', 'sendWebhook']),
    schedule: {
      ...(delays === undefined ? {} : { delaysMs: delaysOf(delays) }),
      ...(options['repeat-last'] === undefined ? {} : { repeatLast: true }),
      ...(horizon === undefined ? {} : { horizonMs: durationOf('horizon', horizon) }),
      ...(maxWait === undefined ? {} : { maxWaitMs: durationOf('max-wait', maxWait) }),
    },
  };
}

export const scheduleCommand = defineCommand({
  summary: 'shows when a message that always fails is sent again, and when it is given up',
  words: [],
  options: OPTIONS,
  notes: [
    [
      'durable is createWebhookSender with a queue on a disk or a server, memory with its queue in memory.',
      'Times count from acceptance: the earliest without jitter, the latest with the most of it. What',
      'receivers ask for (Retry-After) and the time of attempts themselves come on top.',
    ].join('\n'),
  ],
  examples: [
    { command: 'security-events schedule', what: 'the default of a durable queue: 72 hours' },
    {
      command: 'security-events schedule --of sendWebhook --json',
      what: 'the default of sendWebhook, for a program',
    },
    {
      command: 'security-events schedule --delays 10s,1m,10m --repeat-last --horizon 6h',
      what: 'one of your own',
    },
  ],
  async run({ options, terminal }) {
    const schedule = explainSchedule(scheduleOf(options));
    const lines = scheduleTable(schedule).map((line) => `${line}\n`);
    await terminal.output.write(options.json ? jsonLine(schedule) : lines.join(''));
    return 0;
  },
});
