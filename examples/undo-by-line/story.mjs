// What agents and a dream do to the memory, before an operator comes.

export const SENTENCE = 'Refunds take 90 days.';
/** No real key. */
export const KEY = 'sk-live-7f3a9c51';

/** @import { MemoryService } from 'memory-service' */

/**
 * @param {MemoryService} service
 * @param {string} actor
 * @param {string} path
 * @param {string} content
 * @param {string} [userId]
 */
async function write(service, actor, path, content, userId = 'anna') {
  const context = { userId, actor };
  await service.tools.execute('memory_write', { context, arguments: { path, content } });
}

/**
 * @param {MemoryService} service
 * @param {string} actor
 * @param {string} path
 * @param {string} text
 */
async function append(service, actor, path, text) {
  const context = { userId: 'anna', actor };
  await service.tools.execute('memory_patch', { context, arguments: { path, append: { text } } });
}

/** An agent writes a false line, and another one appends a good one. @param {MemoryService} service */
export async function playAllergy(service) {
  await write(service, 'assistant', 'user/health.md', '# Health\n\n- Runs on Mondays\n');
  await append(service, 'intake-agent', 'user/health.md', '- No known food allergies');
  await append(service, 'assistant', 'user/health.md', '- Started yoga');
}

const DIET = '# Diet\n\n- Allergic to nuts, hazelnuts most of all\n- Eats late\n';

/** @param {MemoryService} service */
export async function playDiet(service) {
  await write(service, 'assistant', 'user/diet.md', DIET);
}

/** Somebody writes after the dream. @param {MemoryService} service */
export async function playAfterDream(service) {
  await append(service, 'assistant', 'user/diet.md', '- Drinks oat milk');
}

/** An agent notes a key, others write on, and later the line is removed. @param {MemoryService} service */
export async function playKey(service) {
  const path = 'user/deploy.md';
  const versions = [
    '# Deploy\n\n- Staging first\n',
    `# Deploy\n\n- Staging first\n- The key is ${KEY}\n`,
    `# Deploy\n\n- Staging first\n- The key is ${KEY}\n- Ask Bo on Fridays\n`,
    `# Deploy\n\n- Staging first, always\n- The key is ${KEY}\n- Ask Bo on Fridays\n`,
    '# Deploy\n\n- Staging first, always\n- Ask Bo on Fridays\n',
  ];
  for (const content of versions) await write(service, 'deploy-agent', path, content);
}

/**
 * A support agent tells every user the same wrong sentence.
 *
 * @param {MemoryService} service
 * @param {number} [count]
 */
export async function playSentence(service, count = 4_000) {
  const users = Array.from({ length: count }, (_, at) => `user-${String(at).padStart(4, '0')}`);
  for (let start = 0; start < users.length; start += 50) {
    await Promise.all(
      users.slice(start, start + 50).map((userId, at) => {
        const content = `# Support\n\n- Asked about order ${start + at}\n- ${SENTENCE}\n- Likes mail\n`;
        return write(service, 'support-agent', 'user/support.md', content, userId);
      }),
    );
  }
}

/** Stands for a model whose dream makes the allergy vaguer, and for a verifier that lets it pass. */
export const model = {
  name: 'scripted',
  model: 'careless',
  /** @param {{ prompt: string }} request */
  async generate({ prompt }) {
    const isVerifier = prompt.includes('\n<operation-');
    const line = {
      path: 'user/diet.md',
      line: 3,
      text: '- Allergic to nuts, hazelnuts most of all',
    };
    const operation = {
      kind: 'reword',
      reason: 'shorter',
      remove: [line],
      add: { path: 'user/diet.md', heading: null, lines: ['- Careful with nuts'] },
      sources: [],
    };
    const reply = isVerifier
      ? { verdicts: [{ operation: 1, lost: [], added: [], proof: [], verdict: 'keeps' }] }
      : { operations: [operation] };
    return { text: JSON.stringify(reply), inputTokens: 1, outputTokens: 1 };
  },
};
