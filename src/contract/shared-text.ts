/**
 * The quick texts of the contract's own schemas, made once for all writers and reporters of a process:
 * the code for the shapes of a record takes milliseconds to make.
 */
import type * as z from 'zod';
import { jsonTexts } from './json-text.ts';
import type { TextOf } from './scalar-text.ts';
import { unlessSuspect } from './when-used.ts';

const texts = unlessSuspect(jsonTexts);

/** As `jsonTextOf` gives it, and the same for the same schema. */
export const sharedTextOf = (schema: z.core.$ZodType): TextOf => texts()(schema);
