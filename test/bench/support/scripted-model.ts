import { quotePassages } from '../../../core/cli/demo-model.ts';
import type { GenerateRequest, ModelProvider } from '../../../core/contracts/model-provider.ts';

/** A model that answers at once, by rule, and counts what it is asked: four characters a token. */
export interface ScriptedModel extends ModelProvider {
  readonly usage: { calls: number; inputTokens: number; outputTokens: number };
}

/** Corrects the drink of a profile for `memory_remember`; quotes lines for `memory_context`. */
export function scriptedModel(): ScriptedModel {
  const usage = { calls: 0, inputTokens: 0, outputTokens: 0 };
  return {
    name: 'scripted',
    model: 'scripted',
    usage,
    generate({ system, prompt, schema }: GenerateRequest) {
      const text = JSON.stringify(
        prompt.includes('<fact-') ? correct(prompt) : quotePassages(prompt),
      );
      const inputTokens = toTokens(system.length + prompt.length + JSON.stringify(schema).length);
      const outputTokens = toTokens(text.length);
      usage.calls += 1;
      usage.inputTokens += inputTokens;
      usage.outputTokens += outputTokens;
      return Promise.resolve({ text, inputTokens, outputTokens });
    },
  };
}

/** The profile that is corrected, back and forth. */
export const PROFILE = '# Profile\n\n- Prefers tea.\n';

/** The fact of the `n`th call: each one makes the line before it untrue. */
export function factAt(n: number): string {
  return n % 2 === 0 ? 'The user prefers coffee.' : 'The user prefers tea.';
}

function correct(prompt: string): object {
  const [, line, oldText] = /^(\d+)\| (- Prefers (?:tea|coffee)\.)$/m.exec(prompt) ?? [];
  const drink = /user prefers (\w+)\./.exec(prompt)?.[1];
  const lines = [`- Prefers ${drink}.`];
  if (oldText === undefined || oldText === lines[0]) return { read: [], operations: [] };
  const part = { kind: 'patch', path: 'user/profile.md', heading: null, line: Number(line) };
  return { read: [], operations: [{ ...part, oldText, lines }] };
}

function toTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
