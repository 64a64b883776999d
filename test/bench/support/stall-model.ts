import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Makes the text of a reply from the prompt. */
export type Reply = (prompt: string) => string;

/** A chat-completions server that answers as a case wants it: a model is not to be trusted. */
export interface StallModel {
  readonly baseUrl: string;
  answer(reply: Reply): void;
  /** Replies that are the worst for who takes them apart, each with its name. */
  readonly rememberReplies: readonly [string, Reply][];
  readonly contextReplies: readonly [string, Reply][];
  close(): void;
}

const LINES = 50;
const OPERATIONS = 50;
const REPLY_CHARS = 60_000;

export async function startStallModel(): Promise<StallModel> {
  let reply: Reply = () => '{"operations":[]}';
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => void parts.push(part));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as {
        messages: { content: string }[];
      };
      const content = reply(body.messages.at(-1)?.content ?? '');
      const message = { role: 'assistant', content };
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          id: 'a',
          object: 'chat.completion',
          created: 0,
          model: 'stalls',
          choices: [{ index: 0, finish_reason: 'stop', message }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    answer(next) {
      reply = next;
    },
    rememberReplies: REMEMBER,
    contextReplies: CONTEXT,
    close: () => void server.close(),
  };
}

interface Shown {
  fact: string;
  path: string;
  /** Numbered lines as they are shown. */
  lines: [line: number, text: string][];
}

function readPrompt(prompt: string): Shown {
  const fact = /<fact-\w+>\n([\s\S]*)\n<\/fact-/.exec(prompt)?.[1] ?? '';
  const path = /<file-\w+ path="([^"]+)"/.exec(prompt)?.[1] ?? 'user/notes.md';
  const lines = [...prompt.matchAll(/^[a-z]+(\d+)\| (.*)$/gm)].map(
    ([, line, text = '']): [number, string] => [Number(line), text],
  );
  return { fact, path, lines };
}

/** An operation in short: a line that goes, or none, and lines that come. */
interface Short {
  path: string;
  line?: number;
  oldText?: string;
  heading?: string;
  lines: string[];
}

function toOperations(short: Short[]): string {
  const operations = short.map(({ path, line, oldText: text, heading = null, lines }) => ({
    kind: text === undefined ? 'add' : 'update',
    reason: '',
    remove: text === undefined ? [] : [{ path, line, text }],
    add: { path, heading, lines },
    sources: [],
  }));
  let text = JSON.stringify({ operations });
  while (text.length > REPLY_CHARS && operations.length > 0) {
    operations.pop();
    text = JSON.stringify({ operations });
  }
  return text;
}

/** Parts of the fact as lines: nothing in them is made up. */
function cutFact(fact: string, count: number, length: number): string[] {
  const plain = fact.replaceAll(/\s+/g, ' ');
  return Array.from({ length: count }, (_, n) => {
    const from = (n * length) % Math.max(1, plain.length - length);
    return `- ${
      plain
        .slice(from, from + length)
        .toWellFormed()
        .trim() || 'tea'
    }`;
  });
}

const REMEMBER: readonly [string, Reply][] = [
  [
    '50 lines of the fact in one operation',
    (prompt) => {
      const { fact, path } = readPrompt(prompt);
      return toOperations([{ path, lines: cutFact(fact, LINES, 300) }]);
    },
  ],
  [
    '50 operations of 20 short lines',
    (prompt) => {
      const { fact, path } = readPrompt(prompt);
      const lines = cutFact(fact, OPERATIONS * 20, 12);
      return toOperations(
        Array.from({ length: OPERATIONS }, (_, n) => ({
          path,
          lines: lines.slice(n * 20, n * 20 + 20),
        })),
      );
    },
  ],
  [
    '50 patches of shown lines',
    (prompt) => {
      const { fact, path, lines } = readPrompt(prompt);
      const said = cutFact(fact, OPERATIONS, 200);
      return toOperations(
        lines.slice(0, OPERATIONS).map(([line, oldText], n) => ({
          path,
          line,
          oldText,
          lines: [said[n] ?? '- tea'],
        })),
      );
    },
  ],
  [
    '50 patches of lines by numbers that do not exist',
    (prompt) => {
      const { path, lines } = readPrompt(prompt);
      const [, oldText = '- tea'] = lines.at(-1) ?? [];
      return toOperations(
        Array.from({ length: OPERATIONS }, (_, n) => ({
          path: n % 2 === 0 ? path : 'user/large.md',
          line: 1_000_000 + n,
          oldText,
          lines: [`${oldText} ${n}`],
        })),
      );
    },
  ],
  [
    '50 lines below a heading',
    (prompt) => {
      const { fact, path, lines } = readPrompt(prompt);
      const heading = (lines.at(-1)?.[1] ?? '').replace(/^#+ /, '');
      const said = cutFact(fact, OPERATIONS, 200);
      return toOperations(
        said.map((line, n) => ({
          path: n % 2 === 0 ? path : 'user/large.md',
          heading,
          lines: [line],
        })),
      );
    },
  ],
  [
    'a large file as a source of 50 lines, by number',
    (prompt) => {
      const { fact, path } = readPrompt(prompt);
      const { operations } = JSON.parse(
        toOperations(cutFact(fact, OPERATIONS, 200).map((line) => ({ path, lines: [line] }))),
      ) as { operations: object[] };
      const sources = Array.from({ length: LINES }, (_, n) => ({
        path: 'user/large.md',
        line: n + 1,
      }));
      return JSON.stringify({ operations: operations.map((one) => ({ ...one, sources })) });
    },
  ],
  [
    'an entry of the catalog that links to a large file',
    () => {
      const add = { path: 'user/index.md', heading: null, lines: ['- [Large](large.md) "a b" 12'] };
      const entry = { kind: 'index', reason: '', remove: [], add, sources: [] };
      return JSON.stringify({ operations: [entry] });
    },
  ],
  [
    '20 new files with links',
    (prompt) => {
      const { fact } = readPrompt(prompt);
      return toOperations(
        Array.from({ length: 20 }, (_, n) => ({
          path: `user/new/${n}.md`,
          lines: cutFact(fact, 10, 200),
        })),
      );
    },
  ],
  [
    '2,000 characters that no rule likes',
    (prompt) => {
      const { path } = readPrompt(prompt);
      const lines = ['ignore ', 'you  ', 'send ', '$1,1', 'a@', '[[](', '<', "n't "].map((part) =>
        part.repeat(2_000).slice(0, 2_000),
      );
      return toOperations([{ path, lines }]);
    },
  ],
  ['a list of 60,000 levels', () => '['.repeat(60_000)],
  ['1 MB of JSON', () => JSON.stringify({ operations: [], more: 'x'.repeat(1_000_000) })],
  ['a text of 1 MB before its JSON', () => `${'{ '.repeat(500_000)}{"read":[],"operations":[]}`],
  ['a fence that never ends', () => `\`\`\`json\n${'`` '.repeat(300_000)}`],
];

/** The plan, the same for all replies that select: searches that find as much as they can. */
const PLAN = JSON.stringify({
  searches: ['tea', 'the user likes', 'word number', 'note'].map((text) => `${text} `.repeat(80)),
});

/** A reply to the selection, after a plan. */
function selects(reply: Reply): Reply {
  return (prompt) => (prompt.endsWith('Plan the searches.') ? PLAN : reply(prompt));
}

const CONTEXT: readonly [string, Reply][] = [
  [
    'every line that it was shown',
    selects((prompt) => {
      const { path, lines } = readPrompt(prompt);
      return JSON.stringify({ lines: lines.map(([line]) => ({ path, line })) });
    }),
  ],
  [
    '50,000 lines that are not there',
    selects(() =>
      JSON.stringify({ lines: Array.from({ length: 50_000 }, (_, line) => ({ path: 'a', line })) }),
    ),
  ],
  [
    'one path of 1 MB',
    selects(() => JSON.stringify({ lines: [{ path: 'a'.repeat(1_000_000), line: 1 }] })),
  ],
  ['50,000 searches', () => JSON.stringify({ searches: Array(50_000).fill('tea') })],
  ['one search of 1 MB', () => JSON.stringify({ searches: ['a '.repeat(500_000)] })],
  ['a text of 1 MB before its JSON', () => `${'{ '.repeat(500_000)}{"lines":[]}`],
  ['a list of 500,000 levels', () => '['.repeat(500_000)],
];
