// A stand-in for the model of the nightly dream, so that the example needs no key: it proposes to take away a
// line that is there twice, and as the verifier it passes what it is shown.

/** @type {import('memory-service/plugin').ModelProvider} */
export const nightlyModel = {
  name: 'scripted',
  model: 'nightly',
  async generate({ prompt }) {
    const isVerifier = prompt.includes('\n<operation-');
    const reply = isVerifier ? judge(prompt) : { operations: findRepeats(prompt) };
    return { text: JSON.stringify(reply), inputTokens: 1, outputTokens: 1 };
  },
};

/**
 * Lines are named by the ids that the prompt shows in front of them, as in `a7 2026-05-01| - text`.
 *
 * @param {string} prompt
 */
function findRepeats(prompt) {
  /** @type {Map<string, string>} */
  const seen = new Map();
  const operations = [];
  for (const [, id = '', text = ''] of prompt.matchAll(/^([a-z]+\d+)(?: \S+)?\| (- .+)$/gm)) {
    const first = seen.get(text);
    if (first === undefined) seen.set(text, id);
    else {
      operations.push({
        kind: 'merge',
        reason: 'The line is there twice.',
        remove: [id],
        add: null,
        sources: [first],
      });
    }
  }
  return operations;
}

/** @param {string} prompt */
function judge(prompt) {
  const numbers = [...prompt.matchAll(/^<operation-\w+ number="(\d+)"/gm)];
  const verdicts = numbers.map(([, number]) => ({
    operation: Number(number),
    lost: [],
    added: [],
    verdict: 'keeps',
  }));
  return { verdicts };
}
