/**
 * Dialects and readings of one definition (D0). Every schema is a function of a {@link Mode}. The four modes
 * differ as follows. docs/contract.md explains N, W, and the decisions such as D0:
 *
 * | | emitted | received |
 * |---|---|---|
 * | unknown keys | refused | kept |
 * | our own restrictions (N) | checked | type only |
 * | deviations of real senders (W) | refused | accepted |
 *
 * | | strict | open |
 * |---|---|---|
 * | closed vocabularies | closed | any non-empty string |
 * | channel A addresses | IPv4 | IPv4 and IPv6 |
 * | `parameters.json` | an object | an object or an array |
 */
import * as z from 'zod';

export type Dialect = 'strict' | 'open';
export type Reading = 'emitted' | 'received';

export interface Mode<D extends Dialect = Dialect, R extends Reading = Reading> {
  readonly dialect: D;
  readonly reading: R;
}

/** Any string; editors complete the known words. */
export type OpenWord<W extends string> = W | (string & {});

/** A word of a vocabulary that is closed in the strict dialect. */
export type Word<D extends Dialect, W extends string> = D extends 'strict' ? W : OpenWord<W>;

export const nonEmpty = (): z.ZodString => z.string().min(1);

type Words = readonly [string, ...string[]];

/** One of `words` in the strict dialect, any non-empty string in the open one. */
export const word = <D extends Dialect, const W extends Words>(
  mode: Mode<D>,
  words: W,
): z.ZodType<Word<D, W[number]>, Word<D, W[number]>> =>
  (mode.dialect === 'strict' ? z.enum(words) : nonEmpty()) as never;

/** Any string in every mode; `words` only help editors (D26). */
export const openWord = <const W extends Words>(
  _words: W,
): z.ZodType<OpenWord<W[number]>, OpenWord<W[number]>> => z.string();

type Rest<R extends Reading> = R extends 'emitted' ? z.core.$strict : z.core.$loose;

export type Fields<R extends Reading, S extends z.core.$ZodLooseShape> = z.ZodObject<S, Rest<R>>;

/** An object: unknown keys are refused when emitted, kept when received. */
export const fields = <R extends Reading, S extends z.core.$ZodLooseShape>(
  mode: Mode<Dialect, R>,
  shape: S,
  error?: (issue: z.core.$ZodRawIssue) => string | undefined,
): Fields<R, S> =>
  mode.reading === 'emitted' ? z.strictObject(shape, { error }) : z.looseObject(shape, { error });

/** Restriction N: `narrow` when emitted, `wide` (the plain type) when received. */
export const narrowed = <Out, In>(
  mode: Mode,
  narrow: z.ZodType<Out, In>,
  wide: z.ZodType<Out, In>,
): z.ZodType<Out, In> => (mode.reading === 'emitted' ? narrow : wide);

/** Deviation W: `plain` when emitted, `tolerant` when received. */
export const tolerated = <R extends Reading, P extends z.ZodType, T extends z.ZodType>(
  mode: Mode<Dialect, R>,
  plain: P,
  tolerant: T,
): Tolerated<R, P, T> => (mode.reading === 'emitted' ? plain : tolerant) as never;

export type Tolerated<R extends Reading, P extends z.ZodType, T extends z.ZodType> = z.ZodType<
  R extends 'emitted' ? z.output<P> : z.output<T>,
  R extends 'emitted' ? z.input<P> : z.input<T>
>;
