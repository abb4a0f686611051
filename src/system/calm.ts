/** A function of the host's may be asynchronous: nobody waits for it, and it must not end the process. */
export function calm(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => {});
}
