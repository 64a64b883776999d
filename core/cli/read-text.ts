import { createInterface } from 'node:readline/promises';
import { ConfigError } from '../config/error.ts';
import { takeStreams } from './streams.ts';

/** The longest text that is read, in characters. */
const LONGEST = 4_096;

/**
 * Reads the text that a command works on from standard input, or asks a person for a line. It is no
 * argument, because others can read those, and shells keep them. The last line break does not count.
 */
export async function readText(question: string): Promise<string> {
  const { input } = takeStreams();
  const text = input.isTTY === true ? await ask(question) : await readAll();
  if (text !== '') return text;
  throw new ConfigError(
    null,
    'Give the text on standard input, as in: memory-service … < text.txt',
  );

  async function ask(label: string): Promise<string> {
    const terminal = createInterface({ input, output: process.stderr });
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    const answer = await Promise.race([terminal.question(label), closed]);
    terminal.close();
    return answer;
  }

  async function readAll(): Promise<string> {
    let all = '';
    for await (const part of input.setEncoding('utf8')) {
      all += String(part);
      // One more than fits is refused by the service, with its reason.
      if (all.length > 2 * LONGEST) break;
    }
    return all.replace(/\r?\n$/, '');
  }
}
