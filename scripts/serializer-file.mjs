/** Collects the imports, constants and functions of the generated file, each once. */
import { camelCase, capitalised } from './serializer-pieces.mjs';

const functionName = (name) => `serialize${capitalised(camelCase(name))}`;

export class GeneratedFile {
  /** Functions by their body. */
  #functions = new Map();
  #constants = new Map();
  #names = new Set();
  #imports = new Set();

  import(name) {
    this.#imports.add(name);
    return name;
  }

  /** Returns the name of a constant at the top of the file. Equal constants share a name. */
  constant(prefix, value) {
    const text = value instanceof RegExp ? `/${value.source}/${value.flags}` : value;
    const known = [...this.#constants].find(([, other]) => other === text);
    if (known !== undefined) return known[0];
    const name = this.#unused(prefix.replaceAll(/\W+/g, '_'), '_');
    this.#constants.set(name, text);
    return name;
  }

  #unused(name, separator = '') {
    let free = name;
    for (let count = 2; this.#names.has(free); count += 1) free = `${name}${separator}${count}`;
    this.#names.add(free);
    return free;
  }

  /** Returns a function with this body. Reuses an existing one. */
  functionOf(body, { name, takesCaptured, takesWord }) {
    const known = this.#functions.get(body);
    if (known !== undefined) return known;
    const made = { name: this.#unused(functionName(name)), takesCaptured, takesWord };
    this.#functions.set(body, made);
    return made;
  }

  hasFunction(name) {
    return this.#names.has(functionName(name));
  }

  /** Returns the declarations in the order of their dependencies. */
  text({ capturedType }) {
    const constants = [...this.#constants].map(([name, value]) => `const ${name} = ${value};`);
    const functions = [...this.#functions].map(([body, { name, takesCaptured, takesWord }]) => {
      const word = takesWord ? ', word: string' : '';
      const captured = takesCaptured ? `, captured: ${capturedType}` : '';
      return `function ${name}(value: unknown${word}${captured}): Fragment {\n${body}\n}`;
    });
    const imports = [...this.#imports].toSorted((a, b) => a.localeCompare(b));
    return { imports, constants, functions };
  }
}
