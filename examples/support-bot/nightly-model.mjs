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

/** @param {string} prompt */
function findRepeats(prompt) {
  const path = /path="([^"]+)"/.exec(prompt)?.[1] ?? '';
  /** @type {Map<string, number>} */
  const seen = new Map();
  const operations = [];
  for (const [, line, text = ''] of prompt.matchAll(/^(\d+) \S+\| (- .+)$/gm)) {
    const first = seen.get(text);
    if (first === undefined) seen.set(text, Number(line));
    else {
      operations.push({
        kind: 'merge',
        reason: 'The line is there twice.',
        remove: [{ path, line: Number(line), text }],
        add: null,
        sources: [{ path, line: first, text }],
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
