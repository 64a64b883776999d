import type { GenerateRequest, ModelProvider } from '../contracts/model-provider.ts';
import { createProviderError } from '../providers/provider-failure.ts';
import type { DemoFact, DemoTidying, DemoUser } from './demo-data.ts';
import { toUserPath } from '../files/paths.ts';

/** The scripted model of the demo, which can be made to fail. */
export interface DemoModel extends ModelProvider {
  isDown: boolean;
  /** The least time that a call takes, in milliseconds. */
  thinkingMs: number;
}

/** Some latency, so that the console's figures look real. */
const THINKING_MS = 6;

/**
 * A model that answers from the demo's data: where a fact belongs, which lines answer a question, and
 * what a dream tidies. Its replies are checked like those of any model. It exists only while the
 * demo is filled.
 */
export function demoModel(users: readonly DemoUser[]): DemoModel {
  const facts = users.flatMap((user) => user.facts);
  const tidyings = users.flatMap((user) => user.tidyings);
  const model: DemoModel = {
    name: 'demo',
    model: 'demo-script',
    isDown: false,
    thinkingMs: THINKING_MS,
    async generate({ system, prompt, schema }: GenerateRequest) {
      await new Promise((resolve) => setTimeout(resolve, model.thinkingMs));
      if (model.isDown) {
        throw createProviderError('MODEL_FAILED', { reason: 'unavailable', providerStatus: 503 });
      }
      const reply = prompt.includes('\n<operation-')
        ? passAll(prompt)
        : prompt.includes('<fact-')
          ? remember(prompt, facts)
          : prompt.includes('<question-')
            ? answerContext(prompt)
            : tidy(toFiles(prompt), tidyings);
      const text = JSON.stringify(reply);
      return {
        text,
        inputTokens: toTokens(system.length + prompt.length + JSON.stringify(schema ?? {}).length),
        outputTokens: toTokens(text.length),
      };
    },
  };
  return model;
}

/** A fact in a user's words: the line in memory without its bullet. */
export function toSaid({ text }: DemoFact): string {
  return text.replace(/^- /, '');
}

function remember(prompt: string, facts: readonly DemoFact[]): object {
  const said = /<fact-[0-9a-f]+>\n(.*)\n<\/fact-/.exec(prompt)?.[1] ?? '';
  const fact = facts.find((one) => toSaid(one) === said);
  if (fact === undefined) return { operations: [] };
  const { path, under, text, newFile } = fact;
  const heading = newFile ?? under?.replace(/^#+ /, '') ?? null;
  const bare = { reason: '', remove: [], sources: [] };
  const file = { kind: 'add', ...bare, add: { path: toUserPath(path), heading, lines: [text] } };
  const entry = { path: 'user/index.md', heading: null, lines: [`- [${newFile}](user/${path})`] };
  return {
    operations: [file, ...(newFile === undefined ? [] : [{ kind: 'index', ...bare, add: entry }])],
  };
}

/** A verifier that accepts every edit. */
function passAll(prompt: string): object {
  const shown = [...prompt.matchAll(/^<operation-[0-9a-f]+ number="(\d+)" kind="(\w+)"/gm)];
  return {
    verdicts: shown.map(([, number, kind]) => ({
      operation: Number(number),
      lost: [],
      added: [],
      verdict: kind === 'supersede' ? 'replaces' : 'keeps',
    })),
  };
}

/** No further search; of what was found, the first line of each of three files that is no heading. */
export function answerContext(prompt: string): object {
  if (prompt.endsWith('Plan the searches.')) return { searches: [] };
  const files = prompt.split(/^<file-[0-9a-f]+ path=/m).slice(1, 4);
  const lines = files.flatMap((file) => {
    const path = /^"([^"]*)"/.exec(file)?.[1];
    const line = /^(\d+)\| \d{4}-\d{2}-\d{2} \| (?!#)/m.exec(file)?.[1];
    return path === undefined || line === undefined ? [] : [{ path, line: Number(line) }];
  });
  return { lines };
}

type Lines = ReadonlyMap<string, readonly string[]>;

function tidy(files: Lines, tidyings: readonly DemoTidying[]): object {
  return { operations: tidyings.flatMap((tidying) => toOperation(files, tidying) ?? []) };
}

/** `null` unless the prompt shows all of its lines. */
function toOperation(files: Lines, tidying: DemoTidying): object | null {
  const find = ({ path, text }: { path: string; text: string }) => {
    const line = (files.get(toUserPath(path))?.indexOf(text) ?? -1) + 1;
    return line === 0 ? null : { path: toUserPath(path), line, text };
  };
  const { kind, path, reason, heading = null } = tidying;
  const remove = tidying.remove.map((text) => find({ path, text }));
  const sources = tidying.sources.map(find);
  if ([...remove, ...sources].includes(null)) return null;
  return {
    kind,
    reason,
    remove,
    add: tidying.add.length === 0 ? null : { path: toUserPath(path), heading, lines: tidying.add },
    sources,
  };
}

function toFiles(prompt: string): Lines {
  const files = new Map<string, string[]>();
  for (const [, path = '', body = ''] of prompt.matchAll(
    /<file-[0-9a-f]+ path="([^"]*)"[^>]*>\n([\s\S]*?)\n<\/file-/g,
  )) {
    files.set(
      path,
      body.split('\n').map((row) => row.replace(/^[a-z]*\d+(?: [\d-]+)?\| ?/, '')),
    );
  }
  return files;
}

function toTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
