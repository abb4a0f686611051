/** A listener of the host's that is asynchronous and rejects, and how often somebody caught that. */
export function rejectingListener(): {
  readonly listen: () => unknown;
  readonly caught: () => number;
} {
  let caught = 0;
  const listen = (): unknown => {
    const answer = Promise.reject(new Error('of the host'));
    const catchIt = answer.catch.bind(answer);
    return Object.assign(answer, {
      catch(onRejected: () => void) {
        caught += 1;
        return catchIt(onRejected);
      },
    });
  };
  return { listen, caught: () => caught };
}
