/** Prints the errors and warnings of AsyncAPI's parser for the document on standard input. */
import { text } from 'node:stream/consumers';
import { Parser } from '@asyncapi/parser';

/** As in Spectral: 0 is an error, 1 a warning. The others recommend a newer version of the format. */
const WARNING = 1;

const diagnostics = await new Parser().validate(await text(process.stdin));
const faults = diagnostics.filter(({ severity }) => severity <= WARNING);
console.log(JSON.stringify(faults.map(({ code, path }) => `${code} ${path.join('.')}`)));
