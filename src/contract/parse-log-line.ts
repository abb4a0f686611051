import type * as z from 'zod';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { check } from '../option-rules.ts';
import { CONTRACT_RULES, type Contract, type ContractOptions, contract } from './contract.ts';
import type { Dialect, Reading } from './dialect.ts';

/** The output of the line schema in one mode. */
export type ParsedLogLine<D extends Dialect, R extends Reading> = z.output<
  Contract<D, R>['LogLine']
>;

/** Converts a zod error's issues for a SecurityEventError. */
export const inputIssues = (error: z.core.$ZodError): InputIssue[] =>
  error.issues.map(({ path, message }) => ({ path, message }));

function parseJson(line: string): unknown {
  const text = String(line).trim();
  if (/[\r\n]/.test(text)) {
    throw new SecurityEventError('ERR_INVALID_LINE', { detail: 'more than one line', input: line });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Without the error of JSON.parse, which quotes the text.
    throw new SecurityEventError('ERR_INVALID_LINE', { detail: 'not JSON', input: line });
  }
}

/**
 * Parses one log line, by default as leniently as the contract allows: dialect `open`, reading `received`.
 * Throws ERR_INVALID_LINE if the text is not one line of JSON, and ERR_INVALID_RECORD, with path and
 * issues, if it is not a valid record.
 */
export function parseLogLine<D extends Dialect = 'open', R extends Reading = 'received'>(
  line: string,
  options: ContractOptions<D, R> = {},
): ParsedLogLine<D, R> {
  const { dialect = 'open', reading = 'received' } = check<ContractOptions<D, R>>(
    options,
    CONTRACT_RULES,
  );
  const value = parseJson(line);
  const result = contract({ dialect, reading }).LogLine.safeParse(value);
  if (result.success) return result.data as ParsedLogLine<D, R>;
  throw new SecurityEventError('ERR_INVALID_RECORD', {
    issues: inputIssues(result.error),
    input: line,
  });
}
