import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { takeStreams } from '../streams.ts';
import { UsageError } from './usage-error.ts';

/** Asks the person at the terminal. */
export interface Questions {
  ask(question: string, options?: { byDefault?: string; isSecret?: boolean }): Promise<string>;
  /** Shows numbered lines, and returns the place of the chosen one, from 0. */
  choose(question: string, lines: readonly string[]): Promise<number>;
}

/** Whether there is a person to ask. */
export function isInteractive(): boolean {
  return takeStreams().input.isTTY === true && process.stderr.isTTY === true;
}

/** Lets `work` ask at the terminal, on standard error. An end of input is a `UsageError`. */
export async function withQuestions<T>(work: (questions: Questions) => Promise<T>): Promise<T> {
  let isMuted = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) process.stderr.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: takeStreams().input, output, terminal: true });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  lines.once('SIGINT', () => lines.close());

  async function ask(
    question: string,
    { byDefault = '', isSecret = false }: { byDefault?: string; isSecret?: boolean } = {},
  ): Promise<string> {
    const shown = byDefault === '' ? '' : ` [${byDefault}]`;
    try {
      const { signal } = ended;
      signal.throwIfAborted();
      if (isSecret) process.stderr.write(`${question}: `);
      isMuted = isSecret;
      const answer = await lines.question(isSecret ? '' : `${question}${shown}: `, { signal });
      return answer.trim() || byDefault;
    } catch (error) {
      if (ended.signal.aborted) throw new UsageError('Nothing was chosen, and nothing changed.');
      throw error;
    } finally {
      if (isMuted) process.stderr.write('\n');
      isMuted = false;
    }
  }

  try {
    return await work({
      ask,
      async choose(question, choices) {
        const shown = choices.map((line, at) => `  ${at + 1}  ${line}\n`).join('');
        process.stderr.write(`${question}\n${shown}`);
        for (;;) {
          const place = Number(await ask('Number', { byDefault: '1' })) - 1;
          if (choices[place] !== undefined) return place;
          process.stderr.write(`Give a number from 1 to ${choices.length}.\n`);
        }
      },
    });
  } finally {
    lines.close();
  }
}
