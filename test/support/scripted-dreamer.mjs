// A model that dreams by rule, for what is measured and killed: it answers at once, makes good and
// bad proposals of whatever memory it is shown, and says the same to the same prompt.

/**
 * @import { ModelProvider } from '../../core/contracts/model-provider.ts'
 * @typedef {{ path: string, line: number, text: string }} Line
 */

/** Words that say that something was corrected. */
const CORRECTS = /\b(?:no longer|now|actually|moved|switched|changed|instead|quit)\b/i;
const FILLERS = /\b(?:basically|really|it is important to note that) /gi;
/** The share of words that two lines must have in common before they are taken for one. */
const LIKE = 0.75;

/**
 * @param {{ onAsk?: () => void | Promise<void>, like?: number }} [options]
 * @returns {ModelProvider & { usage: { calls: number, inputTokens: number, outputTokens: number } }}
 */
export function scriptedDreamer({ onAsk, like = LIKE } = {}) {
  const usage = { calls: 0, inputTokens: 0, outputTokens: 0 };
  return {
    name: 'scripted',
    model: 'scripted-dreamer',
    usage,
    async generate({ system, prompt, schema }) {
      await onAsk?.();
      const isVerifier = prompt.includes('\n<operation-');
      const text = JSON.stringify(
        isVerifier ? passAll(prompt) : { operations: proposeOperations(prompt, like) },
      );
      const inputTokens = toTokens(system.length + prompt.length + JSON.stringify(schema).length);
      const outputTokens = toTokens(text.length);
      usage.calls += 1;
      usage.inputTokens += inputTokens;
      usage.outputTokens += outputTokens;
      return { text, inputTokens, outputTokens };
    },
  };
}

/**
 * The verdicts of a verifier that finds everything good.
 *
 * @param {string} prompt
 */
export function passAll(prompt) {
  const shown = [...prompt.matchAll(/^<operation-\w+ number="(\d+)" kind="(\w+)"/gm)];
  return {
    verdicts: shown.map(([, number, kind]) => ({
      operation: Number(number),
      lost: [],
      added: [],
      verdict: kind === 'supersede' ? 'replaces' : 'keeps',
    })),
  };
}

/**
 * @param {string} prompt
 * @param {number} like
 */
function proposeOperations(prompt, like) {
  const files = readFiles(prompt);
  return [...files.entries()].flatMap(([path, lines]) =>
    path === 'user/index.md'
      ? []
      : [
          ...mergeAlike(lines, like),
          ...supersedeCorrected(lines, like),
          ...rewordFillers(lines),
          ...moveDecisions(lines),
          ...addToIndex(path, lines, files.get('user/index.md') ?? null),
        ],
  );
}

/**
 * @param {string} prompt
 * @returns {Map<string, Line[]>}
 */
function readFiles(prompt) {
  const files = new Map();
  const blocks = prompt.matchAll(/^<file-\w+ path="([^"]+)"[^\n]*\n([\s\S]*?)\n<\/file-/gm);
  for (const [, path = '', body = ''] of blocks) {
    files.set(
      path,
      body.split('\n').map((row) => {
        // As in `a7 2026-05-01| - text`: a model may also say where a line stands, and quote it.
        const line = Number(/^[a-z]*(\d+)/.exec(row)?.[1]);
        return { path, line, text: row.slice(row.indexOf('|') + 2) };
      }),
    );
  }
  return files;
}

/**
 * @param {Line[]} lines
 * @param {number} like
 */
function mergeAlike(lines, like) {
  const facts = lines.filter(isFact);
  const gone = new Set();
  return facts.flatMap((first, index) => {
    const second = facts
      .slice(index + 1)
      .find((other) => !gone.has(other) && likeness(first, other) >= like);
    if (gone.has(first) || second === undefined) return [];
    const [kept, left] =
      first.text.length >= second.text.length ? [first, second] : [second, first];
    gone.add(first).add(second);
    return [
      {
        kind: 'merge',
        reason: 'said twice',
        remove: [first, second],
        add: { path: first.path, heading: null, lines: [kept.text] },
        sources: [],
      },
      { kind: 'merge', reason: 'again', remove: [left], add: null, sources: [toRef(kept)] },
    ];
  });
}

/**
 * @param {Line[]} lines
 * @param {number} like
 */
function supersedeCorrected(lines, like) {
  const facts = lines.filter(isFact);
  return facts
    .filter(({ text }) => CORRECTS.test(text))
    .flatMap((newer) => {
      const older = facts.find((it) => it.line < newer.line && likeness(it, newer) >= like / 3);
      if (older === undefined) return [];
      const sources = [toRef(newer)];
      return [{ kind: 'supersede', reason: 'corrected', remove: [older], add: null, sources }];
    });
}

/** @param {Line[]} lines */
function rewordFillers(lines) {
  return lines.filter(isFact).flatMap((line) => {
    const text = line.text.replaceAll(FILLERS, '');
    if (text === line.text) return [];
    const add = { path: line.path, heading: null, lines: [text] };
    return [{ kind: 'reword', reason: 'shorter', remove: [line], add, sources: [] }];
  });
}

/** @param {Line[]} lines */
function moveDecisions(lines) {
  const heading = 'Decisions';
  const at = lines.findIndex(({ text }) => text === `## ${heading}`);
  return lines
    .filter(
      (line, index) => isFact(line) && /^- Decided\b/.test(line.text) && (at < 0 || index < at),
    )
    .map((line) => ({
      kind: 'move',
      reason: 'a decision',
      remove: [line],
      add: { path: line.path, heading, lines: [line.text] },
      sources: [],
    }));
}

/**
 * @param {string} path
 * @param {Line[]} lines
 * @param {Line[] | null} index
 */
function addToIndex(path, lines, index) {
  const inside = path.slice('user/'.length);
  const first = lines.find(({ text }) => text.startsWith('# '));
  if (index === null || first === undefined) return [];
  if (index.some(({ text }) => text.includes(`(${inside})`))) return [];
  const add = {
    path: 'user/index.md',
    heading: null,
    lines: [`- [${first.text.slice(2)}](${inside})`],
  };
  return [{ kind: 'index', reason: 'missing', remove: [], add, sources: [toRef(first)] }];
}

/** @param {Line} line */
function isFact({ text }) {
  return text.startsWith('- ');
}

/** @param {Line} line */
function toRef({ path, line, text }) {
  return { path, line, text };
}

/**
 * The share of words that two lines have in common.
 *
 * @param {Line} one
 * @param {Line} other
 */
function likeness(one, other) {
  const [left, right] = [wordsOf(one), wordsOf(other)];
  let common = 0;
  for (const word of left) if (right.has(word)) common += 1;
  return common / Math.max(1, left.size + right.size - common);
}

/** @type {WeakMap<Line, Set<string>>} */
const known = new WeakMap();

/** @param {Line} line */
function wordsOf(line) {
  let words = known.get(line);
  if (words === undefined) {
    words = new Set(line.text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);
    known.set(line, words);
  }
  return words;
}

/** @param {number} characters */
function toTokens(characters) {
  return Math.ceil(characters / 4);
}
