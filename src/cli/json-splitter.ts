/**
 * Cuts bytes into JSON values as they come: lines of NDJSON, elements of an array however long it is,
 * and values over several lines. It knows strings, escapes, brackets and line ends only, and whether a
 * piece is JSON is for `JSON.parse` to say. Bytes are enough: in UTF-8 none of these is part of a longer
 * character.
 */
import {
  ByteOrderMark,
  CLOSE,
  COLON,
  COMMA,
  END_OF_LINE,
  ESCAPE,
  LINE_FEED,
  MEANING_OF,
  OPEN,
  OPENING_SQUARE,
  OTHER,
  QUOTE,
  SPACE,
} from './json-bytes.ts';

interface Place {
  /** Where it begins, from 1. */
  readonly line: number;
  /** Of an element of an array at the top, from 0. */
  readonly index?: number;
}

export type JsonPiece = Place &
  (
    | { readonly kind: 'value'; readonly bytes: Buffer }
    /** A value of more bytes than are allowed: none of them is kept. */
    | { readonly kind: 'too-long' }
    /** The array at the top that began here has come to its end. */
    | { readonly kind: 'array'; readonly count: number }
    /** It has not, and there is no more of it. */
    | { readonly kind: 'not-closed' }
    /** Behind a value there is something on the same line, which is left out. */
    | { readonly kind: 'text-after' }
  );

const NO_BYTES = Buffer.alloc(0);

/**
 * Where it is: before a value, within one of which each byte is looked at, within a line that is taken
 * whole, behind a value, or where the rest of the line is left out.
 */
type Region = 'between' | 'value' | 'line' | 'after' | 'rest';

/**
 * Whether each line stands for itself, so that a broken one costs no other, or values go over several.
 * The first line that is not blank decides.
 */
type Layout = 'unknown' | 'lines' | 'document';

export class JsonSplitter {
  readonly #maxValueBytes: number;
  #pieces: JsonPiece[] = [];
  #region: Region = 'between';
  #layout: Layout = 'unknown';
  readonly #mark = new ByteOrderMark();

  #line = 1;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Of the last byte but white space. */
  #lastMeaning = OTHER;

  /** The array at the top, where there is one: where it begins, and of which element the bytes are. */
  #array: { readonly line: number; index: number } | undefined;

  /** Whether a value or an element has begun; where, and what there is of it from earlier chunks. */
  #hasBegun = false;
  #valueLine = 1;
  #from = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** @param maxValueBytes of one value or element; a longer one is left out, and told. */
  constructor(maxValueBytes: number) {
    this.#maxValueBytes = maxValueBytes;
  }

  /** What these bytes complete. They must not be changed later. */
  push(chunk: Buffer): JsonPiece[] {
    return this.#split(this.#mark.takeOff(chunk));
  }

  /** What is left when there are no more bytes. */
  end(): JsonPiece[] {
    const pieces = this.#split(this.#mark.rest());
    if (this.#region === 'line' || this.#region === 'value') this.#closeLine(NO_BYTES, 0);
    return pieces;
  }

  #split(chunk: Buffer): JsonPiece[] {
    this.#pieces = [];
    this.#from = 0;
    for (let at = 0; at < chunk.length; ) at = this.#step(chunk, at);
    if (this.#hasBegun) this.#hold(chunk.subarray(this.#from));
    return this.#pieces;
  }

  /** From here as far as the region goes. */
  #step(chunk: Buffer, at: number): number {
    switch (this.#region) {
      case 'between':
        return this.#lookForValue(chunk, at);
      case 'value':
        return this.#scan(chunk, at);
      case 'after':
        return this.#lookForLineEnd(chunk, at);
      default:
        return this.#takeLine(chunk, at);
    }
  }

  #lookForValue(chunk: Buffer, at: number): number {
    const byte = chunk[at] as number;
    const meaning = MEANING_OF[byte] as number;
    if (meaning === END_OF_LINE) this.#line += 1;
    if (meaning === END_OF_LINE || meaning === SPACE) return at + 1;
    this.#lastMeaning = OTHER;
    if (byte === OPENING_SQUARE) {
      this.#array = { line: this.#line, index: 0 };
      this.#depth = 1;
      this.#lastMeaning = OPEN;
      this.#region = 'value';
      return at + 1;
    }
    this.#begin(at);
    this.#depth = 0;
    this.#region = this.#layout === 'lines' ? 'line' : 'value';
    return at;
  }

  #begin(at: number): void {
    this.#hasBegun = true;
    this.#valueLine = this.#line;
    this.#from = at;
  }

  /** Most of a file of NDJSON: nothing but its line ends is looked for. */
  #takeLine(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(LINE_FEED, at);
    if (end === -1) return chunk.length;
    if (this.#region === 'line') this.#tellValue(chunk, end);
    this.#endLine();
    return end + 1;
  }

  #lookForLineEnd(chunk: Buffer, at: number): number {
    const meaning = MEANING_OF[chunk[at] as number];
    if (meaning === SPACE) return at + 1;
    if (meaning === END_OF_LINE) {
      this.#endLine();
      return at + 1;
    }
    this.#pieces.push({ kind: 'text-after', line: this.#line });
    this.#region = 'rest';
    return at;
  }

  #endLine(): void {
    if (this.#layout === 'unknown') this.#layout = 'lines';
    this.#line += 1;
    this.#region = 'between';
  }

  /** Byte by byte to the end of the value, the array, its line or the chunk. */
  #scan(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const meaning = MEANING_OF[chunk[at] as number] as number;
      if (this.#isInString && meaning !== END_OF_LINE) {
        this.#scanString(meaning);
      } else if (meaning !== SPACE) {
        if (!this.#hasBegun && beginsElement(meaning)) this.#begin(at);
        if (meaning !== OTHER) this.#scanSign(meaning, chunk, at);
        this.#lastMeaning = meaning;
        if (this.#region !== 'value') return at + 1;
      }
    }
    return chunk.length;
  }

  #scanString(meaning: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (meaning === ESCAPE) this.#isEscaped = true;
    else if (meaning === QUOTE) this.#isInString = false;
  }

  #scanSign(meaning: number, chunk: Buffer, at: number): void {
    if (meaning === QUOTE) this.#isInString = true;
    else if (meaning === OPEN) this.#depth += 1;
    else if (meaning === CLOSE) this.#scanClose(chunk, at);
    else if (meaning === END_OF_LINE) this.#scanLineEnd(chunk, at);
    else if (meaning === COMMA && this.#array !== undefined && this.#depth === 1) {
      this.#tellElement(this.#array, chunk, at);
    }
  }

  #tellElement(array: { index: number }, chunk: Buffer, end: number): void {
    // Nothing between two commas is a piece, too: one that is not JSON.
    if (!this.#hasBegun) this.#begin(end);
    this.#tellValue(chunk, end);
    array.index += 1;
  }

  #scanClose(chunk: Buffer, at: number): void {
    this.#depth -= 1;
    if (this.#depth > 0) return;
    this.#region = 'after';
    if (this.#array === undefined) {
      this.#tellValue(chunk, at + 1);
      return;
    }
    const isEmpty = !this.#hasBegun && this.#array.index === 0;
    if (!isEmpty) this.#tellElement(this.#array, chunk, at);
    const { line, index: count } = this.#array;
    this.#array = undefined;
    this.#pieces.push({ kind: 'array', line, count });
  }

  #scanLineEnd(chunk: Buffer, at: number): void {
    if (this.#layout === 'unknown') this.#layout = this.#goesOn() ? 'document' : 'lines';
    // No string goes over a line end: what lacks its closing quote is broken up to here, not for good.
    this.#isInString = false;
    this.#isEscaped = false;
    if (this.#layout === 'lines' || this.#depth <= 0) this.#closeLine(chunk, at);
    this.#line += 1;
  }

  /** Where writers break lines within a value: behind a bracket or a comma, or between elements. */
  #goesOn(): boolean {
    if (this.#isInString || this.#depth <= 0) return false;
    if (this.#array !== undefined && this.#depth === 1) return true;
    return [OPEN, COMMA, COLON].includes(this.#lastMeaning);
  }

  /** What is open ends with its line, or with the file. */
  #closeLine(chunk: Buffer, end: number): void {
    if (this.#hasBegun) this.#tellValue(chunk, end);
    if (this.#array !== undefined) {
      this.#pieces.push({ kind: 'not-closed', line: this.#array.line });
      this.#array = undefined;
    }
    this.#isInString = false;
    this.#isEscaped = false;
    this.#region = 'between';
  }

  #hold(bytes: Buffer): void {
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#maxValueBytes) this.#held = [];
    else this.#held.push(bytes);
  }

  /** The value or element that ends here. */
  #tellValue(chunk: Buffer, end: number): void {
    const last = chunk.subarray(this.#from, end);
    const length = this.#heldBytes + last.length;
    const bytes = this.#held.length === 0 ? last : Buffer.concat([...this.#held, last]);
    this.#hasBegun = false;
    this.#held = [];
    this.#heldBytes = 0;
    const index = this.#array === undefined ? {} : { index: this.#array.index };
    const place = { line: this.#valueLine, ...index };
    this.#pieces.push(
      length > this.#maxValueBytes
        ? { kind: 'too-long', ...place }
        : { kind: 'value', bytes, ...place },
    );
  }
}

/** It does not begin with a sign that ends it. */
const beginsElement = (meaning: number): boolean =>
  meaning !== COMMA && meaning !== CLOSE && meaning !== END_OF_LINE;
