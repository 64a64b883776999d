/**
 * A storage that is broken on purpose: it acknowledges a write when it is decided, before it is
 * committed. What checks that nothing acknowledged is lost has to fail with it.
 *
 * @template {{ mutate(request: any, decide: (current: any) => { result: unknown }): Promise<any> }} T
 * @param {T} storage
 * @returns {T}
 */
export function acknowledgeEarly(storage) {
  return Object.assign(Object.create(storage), {
    /** @type {T['mutate']} */
    mutate: (request, decide) =>
      new Promise((resolve, reject) => {
        storage
          .mutate(request, (current) => {
            const decision = decide(current);
            resolve(decision.result);
            return decision;
          })
          .catch(reject);
      }),
  });
}
