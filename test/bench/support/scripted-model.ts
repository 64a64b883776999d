import { answerContext } from '../../../core/demo/demo-model.ts';
import type { GenerateRequest, ModelProvider } from '../../../core/contracts/model-provider.ts';

/** A model that answers at once, by rule, and counts what it is asked: four characters a token. */
export interface ScriptedModel extends ModelProvider {
  readonly usage: { calls: number; inputTokens: number; outputTokens: number };
}

/** Corrects the drink of a profile for `memory_remember`; selects lines for `memory_context`. */
export function scriptedModel(): ScriptedModel {
  const usage = { calls: 0, inputTokens: 0, outputTokens: 0 };
  return {
    name: 'scripted',
    model: 'scripted',
    usage,
    generate({ system, prompt, schema }: GenerateRequest) {
      const text = JSON.stringify(
        prompt.includes('\n<operation-')
          ? { verdicts: [{ operation: 1, lost: [], added: [], verdict: 'replaces' }] }
          : prompt.includes('<fact-')
            ? correct(prompt)
            : answerContext(prompt),
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
  const [, line, oldText] = /^[a-z]+(\d+)\| (- Prefers (?:tea|coffee)\.)$/m.exec(prompt) ?? [];
  const drink = /user prefers (\w+)\./.exec(prompt)?.[1];
  const lines = [`- Prefers ${drink}.`];
  if (oldText === undefined || oldText === lines[0]) return { operations: [] };
  const path = 'user/profile.md';
  const remove = [{ path, line: Number(line), text: oldText }];
  const add = { path, heading: null, lines };
  return { operations: [{ kind: 'update', reason: '', remove, add, sources: [] }] };
}

function toTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
