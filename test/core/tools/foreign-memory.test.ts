import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Logger } from '../../../core/contracts/plugin.ts';
import { MemoryError } from '../../../core/errors.ts';
import { embedWords } from '../../support/provider-server/embed.ts';
import { call, openCore } from '../../support/service.ts';
import { DATABASE } from '../../support/tables.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const LIMIT_MS = isRelease ? 1_800_000 : 240_000;
const CALLS = isRelease ? 10_000 : DATABASE === undefined ? 600 : 100;
const USERS = isRelease ? 50 : 10;

/** A token in two words: a caller may ask with the first, and is never to hear the second. */
const known = (n: number): string => `knock${n}word`;
const secret = (n: number): string => `hush${(n * 7919 + 104729) % 99991}whisper`;

it(
  `is in no answer, prompt, error, log, span or access row of ${CALLS} calls of every tool by a neighbour (T3)`,
  { timeout: LIMIT_MS },
  async () => {
    const heard: string[] = [];
    const record = (...parts: unknown[]) => void heard.push(JSON.stringify(parts, withErrors));
    let prompts = 0;
    const log: Logger = { debug: record, info: record, warn: record, error: record };
    const core = await openCore({
      log,
      sharedWrites: true,
      tools: { delete: true, move: true },
      embedder: {
        name: 'words',
        model: 'words',
        dimensions: 32,
        // Alike to everything, so that nothing but the scope keeps the others' passages away.
        embed: async (texts) =>
          texts.map((text) => Float32Array.from(embedWords(text, 32), (value) => 1 + value)),
      },
      model: {
        name: 'curious',
        model: 'curious',
        async generate({ system, prompt }) {
          prompts += 1;
          record(system, prompt);
          const others = [1, 2, 3].map((n) => `users/mallory${n}/profile.md`);
          const wanted = { read: ['user/profile.md', ...others], operations: [] };
          const lines = ['user/profile.md', ...others].map((path) => ({ path, line: 1 }));
          const told = prompt.endsWith('Plan the searches.') ? { searches: ['word'] } : { lines };
          const text = JSON.stringify(prompt.includes('<fact-') ? wanted : told);
          return { text, inputTokens: 1, outputTokens: 1 };
        },
      },
      exporters: [
        {
          name: 'collector',
          async export(events) {
            record(events.filter(({ userId }) => userId === 'mallory'));
          },
        },
      ],
    });
    const foreign: string[] = [];
    for (let n = 0; n < USERS; n += 1) {
      const text = `# Token\n\nThe word is ${known(n)} ${secret(n)}. See [more](${secret(n)}.md).\n`;
      for (const path of ['user/profile.md', 'user/index.md', `user/notes/${secret(n)}.md`]) {
        const answer = await call(core, `mallory${n}`, 'memory_write', { path, content: text });
        foreign.push(String(answer.result['revisionId']), answer.toolCallId, answer.traceId);
      }
      const { result } = await call(core, `mallory${n}`, 'memory_find', { query: known(n) });
      // Who it belongs to finds it: what follows would otherwise prove nothing.
      expect(JSON.stringify(result)).toContain(secret(n));
    }
    await call(core, 'mallory', 'memory_write', {
      path: 'user/own.md',
      content: 'My word is tea.\n',
    });

    await core.indexer.drain();
    await core.embeddings?.drain();
    const before = await call<{ mode: string }>(core, 'mallory', 'memory_find', { query: 'word' });
    expect(before.result.mode).toBe('hybrid');

    const user = fc.nat(USERS - 1);
    const words = fc.oneof(
      user.map(known),
      // With a slip of the pen, which a fuzzy search looks for in a dictionary.
      user.map((n) => known(n).slice(0, -1)),
      user.map((n) => `${known(n)} hush`),
      fc.constantFrom('the word is', 'token', 'hu', 'whisper', 'tea', '*', 'mallory1'),
    );
    const path = fc.oneof(
      fc.constantFrom('user/profile.md', 'user/index.md', 'user/own.md', 'shared/a.md'),
      fc.constantFrom('user/', 'user/notes/', 'shared/', 'user/notes/hush', 'user/h'),
      user.map((n) => `users/mallory${n}/profile.md`),
      user.map((n) => `user/../mallory${n}/profile.md`),
      user.map((n) => `user/notes/${known(n)}.md`),
      fc.constantFrom(...foreign.slice(0, 30)),
    );
    const text = fc.oneof(
      words,
      user.map((n) => `[x](../mallory${n}/index.md) [[users/mallory${n}/profile]]`),
    );
    const limit = fc.constantFrom(1, 10, 50);
    const optional = { requiredKeys: [] };
    const calls: Record<string, fc.Arbitrary<object>> = {
      memory_list: fc.record({ path, limit, cursor: fc.constantFrom(...foreign) }, optional),
      memory_read: fc.record({ path }),
      memory_find: fc.record(
        {
          query: words,
          path,
          limit,
          group: fc.constantFrom('file', 'passage'),
          explain: fc.boolean(),
          mode: fc.constantFrom('auto', 'text', 'hybrid'),
        },
        { requiredKeys: ['query'] },
      ),
      memory_context: fc.record(
        { query: words, maxChars: fc.constantFrom(200, 5_000, 100_000) },
        { requiredKeys: ['query'] },
      ),
      memory_write: fc.record(
        { path, content: text, ifVersion: fc.constantFrom(0, 1) },
        { requiredKeys: ['path', 'content'] },
      ),
      memory_patch: fc.record({
        path,
        edits: fc.array(fc.record({ oldText: words, newText: text }), {
          minLength: 1,
          maxLength: 2,
        }),
      }),
      memory_delete: fc.record({ path }),
      memory_move: fc.record({ from: path, to: path }),
      memory_remember: fc.record({ text }),
      memory_nothing: fc.record({ path }),
    };
    const request = fc
      .constantFrom(...Object.keys(calls))
      .chain((tool) => (calls[tool] as fc.Arbitrary<object>).map((args) => ({ tool, args })));
    const around = fc.record(
      {
        idempotencyKey: fc.constantFrom('key-1', 'key-2', ...foreign.slice(0, 3)),
        traceparent: fc
          .constantFrom(...foreign)
          .map((id) => `00-${id.replaceAll('-', '').slice(0, 32)}-00f067aa0ba902b7-01`),
      },
      optional,
    );
    let refused = 0;
    const toolCallIds: string[] = [];
    const samples = fc.sample(fc.tuple(request, around), CALLS);
    for (const [{ tool, args }, more] of samples) {
      try {
        const context = { userId: 'mallory', toolCallId: foreign[0] as string };
        const answer = await core.tools.execute(tool, { context, arguments: args, ...more });
        toolCallIds.push(answer.toolCallId);
        record(answer);
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
        expect(error.status, error.message).toBeLessThan(error.code === 'MODEL_FAILED' ? 503 : 500);
        refused += 1;
        record(error);
      }
    }
    // Both kinds were there to be looked at.
    expect(toolCallIds.length).toBeGreaterThan(CALLS / 10);
    expect(refused).toBeGreaterThan(CALLS / 10);
    expect(prompts).toBeGreaterThan(CALLS / 20);
    await core.indexer.drain();
    await core.queue.flush();
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: { items: readonly unknown[]; nextCursor: string | null } =
        await core.accessLog.list({
          userId: 'mallory',
          limit: 500,
          ...(cursor === undefined ? {} : { cursor }),
        });
      record(page.items);
      cursor = page.nextCursor;
    }
    for (const id of toolCallIds.slice(0, 300)) record(await core.traces.toolCall(id));

    const all = heard.join('\n');
    for (let n = 0; n < USERS; n += 1)
      expect(all.includes(secret(n)), `token of mallory${n}`).toBe(false);
  },
);

/** Errors with all that they carry, their causes too. */
function withErrors(_: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { ...value, name, message, stack, cause };
}
