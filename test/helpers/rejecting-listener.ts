/** A listener of the host's that is asynchronous and rejects, and how often somebody caught that. */
export function rejectingListener(): {
  readonly listen: () => unknown;
  readonly caught: () => number;
} {
  let caught = 0;
  const listen = (): unknown => {
    const answer = Promise.reject(new Error('of the host'));
    const native = answer.then.bind(answer);
    const then: typeof native = (onFulfilled, onRejected) => {
      if (onRejected) caught += 1;
      return native(onFulfilled, onRejected);
    };
    Reflect.set(answer, 'then', then);
    return answer;
  };
  return { listen, caught: () => caught };
}
