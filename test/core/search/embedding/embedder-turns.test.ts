import { expect, it } from 'vitest';
import { createEmbedderTurns } from '../../../../core/search/embedding/embedder-turns.ts';

const NEVER = new Promise<never>(() => undefined);

it('passages get their turn though questions never end', async () => {
  const turns = createEmbedderTurns({ questionMs: 20 });
  void turns.ask(() => NEVER);
  let isQuiet = false;
  const quiet = turns.untilQuiet(undefined).then(() => (isQuiet = true));
  await Promise.resolve();
  expect(isQuiet).toBe(false);
  await quiet;
});

it('passages go at once when no question is asked, or the service stops', async () => {
  const turns = createEmbedderTurns({ questionMs: 60_000 });
  await turns.untilQuiet(undefined);
  void turns.ask(() => NEVER);
  const stopping = new AbortController();
  const quiet = turns.untilQuiet(stopping.signal);
  stopping.abort();
  await quiet;
  await turns.untilQuiet(stopping.signal);
});

it('passages wait for all questions, also for one that fails', async () => {
  const turns = createEmbedderTurns({ questionMs: 60_000 });
  let fail = (_error: Error) => undefined as void;
  let answer = () => undefined as void;
  const failing = turns.ask(() => new Promise<never>((_resolve, reject) => (fail = reject)));
  const answered = turns.ask(() => new Promise<void>((resolve) => (answer = resolve)));
  let isQuiet = false;
  const quiet = turns.untilQuiet(undefined).then(() => (isQuiet = true));
  answer();
  await answered;
  expect(isQuiet).toBe(false);
  fail(new Error('gone'));
  await expect(failing).rejects.toThrow('gone');
  await quiet;
});
