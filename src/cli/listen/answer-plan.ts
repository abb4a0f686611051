/** `--fail 503,503,200`: how requests are answered, in turn, whatever became of them. */
import { misuse } from '../failure.ts';

export interface AnswerPlan {
  /** The status of the next request; nothing where the plan is over. */
  next(): number | undefined;
}

/** What HTTP allows as the end of an answer; 1xx would leave the sender waiting. */
const STATUS = /^[2-5]\d\d$/;

/**
 * Statuses with commas between. A `+` behind the last one repeats it for ever; without it the plan is
 * over then, and requests are answered by themselves.
 *
 * @throws CommandFailure with exit code 2
 */
export function answerPlanOf(text: string): AnswerPlan {
  const isRepeated = text.endsWith('+');
  const words = (isRepeated ? text.slice(0, -1) : text).split(',').map((word) => word.trim());
  if (!words.every((word) => STATUS.test(word))) {
    throw misuse(
      '--fail must be statuses from 200 to 599 with commas between, such as 503,503,200',
      'A + behind the last one repeats it: --fail 503+',
    );
  }
  const statuses = words.map(Number);
  let taken = 0;
  return {
    next() {
      taken += 1;
      return statuses[taken - 1] ?? (isRepeated ? statuses.at(-1) : undefined);
    },
  };
}
