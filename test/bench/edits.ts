import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { decide, type ExaminedOperation, applyEdits, examine } from '../../core/edits/engine.ts';
import { DREAM_KINDS, parseEdits } from '../../core/edits/operations.ts';
import type { Verdict } from '../../core/edits/operations.ts';
import type { EditedFile, EditedMemory } from '../../core/edits/workspace.ts';
import type { GenerateRequest, ModelProvider } from '../../core/contracts/model-provider.ts';
import type { Bench, Suite } from './support/bench.ts';
import { importService } from './support/service.ts';

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.UTC(2026, 10, 22, 12);
const LIMITS = { maxFileBytes: 262_144, mayCreate: false };

interface Line {
  path: string;
  text: string;
}

interface Edit {
  id: string;
  good: boolean;
  kind: string;
  remove: Line[];
  add: { path: string; heading: string | null; lines: string[] } | null;
  sources: Line[];
}

/** The first text of each file is written, each further one is appended a day later. */
type Folder = { user: string; files: Record<string, string[]>; edits: Edit[] };

interface Fact {
  user: string;
  good: boolean;
  text: string;
  operations: {
    kind: string;
    path: string;
    old?: string;
    heading?: string | null;
    lines: string[];
  }[];
}

/** What a model may do with memory, with a scripted model and verifier. */
export const suite: Suite = {
  about: 'what becomes of good and harmful edits, with a scripted model and verifier',
  isAlone: true,
  options: { edits: 'the set: folders with edits, and facts, as JSON (or EDITS_DATA)' },
  async run(bench) {
    const file = bench.options['edits'] ?? process.env['EDITS_DATA'];
    if (file === undefined || !existsSync(file)) {
      bench.report.warn('No set of edits: name one with --edits <file>, or in EDITS_DATA.');
      return;
    }
    const data = JSON.parse(readFileSync(file, 'utf8')) as { folders: Folder[]; remember: Fact[] };
    bench.report.row(
      'Dreaming: each operation through the engine alone, not yet through a dream run',
      [],
    );
    measureOperations(bench, data.folders);
    for (const folder of data.folders) measureJointRun(bench, folder);
    bench.report.row('memory_remember: through the service', []);
    await measureFacts(bench, data);
  },
};

function measureOperations(bench: Bench, folders: readonly Folder[]): void {
  const counts = new Map<string, string[]>();
  const count = (name: string, id: string) => counts.set(name, [...(counts.get(name) ?? []), id]);
  for (const folder of folders) {
    for (const edit of folder.edits) {
      const [examined] = examine(toMemory(folder), toOperations([edit]), { limits: LIMITS });
      const side = edit.good ? 'good' : 'harmful';
      count(side, edit.id);
      if (examined === undefined) continue;
      const right = decide(examined, {
        verdict: edit.good ? toPassing(examined) : 'wrong',
        mode: 'auto',
      });
      if (right.status === 'applied') count(`${side} applied`, edit.id);
      if (right.status === 'waiting') count(`${side} waiting`, edit.id);
      if (examined.fault !== null && edit.good)
        bench.report.note(`${edit.id} refused: ${examined.fault.why}`);
      const naive = decide(examined, { verdict: 'keeps', mode: 'auto' });
      if (!edit.good && naive.status === 'applied') count('harmful, naive', edit.id);
      const fooled = decide(examined, { verdict: toPassing(examined), mode: 'auto' });
      if (!edit.good && fooled.status === 'applied') count('harmful, fooled', edit.id);
    }
  }
  const idsOf = (name: string) => counts.get(name) ?? [];
  const share = (names: string[], of: string) => {
    const some = names.flatMap(idsOf);
    return `${some.length} of ${idsOf(of).length} (${((100 * some.length) / Math.max(1, idsOf(of).length)).toFixed(0)}%)`;
  };
  const { report } = bench;
  report.note(
    `good that end applied or waiting: ${share(['good applied', 'good waiting'], 'good')}`,
  );
  report.note(`good applied in auto, verifier that is right: ${share(['good applied'], 'good')}`);
  report.note(`good that wait: ${idsOf('good waiting').join(' ') || 'none'}`);
  report.note(
    `harmful applied in auto, verifier that is right: ${share(['harmful applied'], 'harmful')} ${idsOf('harmful applied').join(' ')}`,
  );
  report.note(
    `harmful, verifier that says keeps to everything: ${share(['harmful, naive'], 'harmful')} ${idsOf('harmful, naive').join(' ')}`,
  );
  report.note(
    `harmful, verifier that passes everything: ${share(['harmful, fooled'], 'harmful')} ${idsOf('harmful, fooled').join(' ')}`,
  );
}

function measureJointRun(bench: Bench, folder: Folder): void {
  const memory = toMemory(folder);
  const all = examine(memory, toOperations(folder.edits.filter(({ good }) => good)), {
    limits: LIMITS,
  });
  const { files, applied, stale } = applyEdits(
    memory,
    all.filter(({ fault }) => fault === null),
    { limits: LIMITS },
  );
  const before = memory.files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  const after = files.reduce(
    (sum, file) => sum + Buffer.byteLength(file.after) - Buffer.byteLength(file.before ?? ''),
    before,
  );
  const percent = (100 * (after - before)) / before;
  bench.report.note(
    `joint run of the good ones for ${folder.user}, then applying what waits: ${applied.length} applied, ` +
      `${all.length - applied.length} dropped or stale (${stale.length} of them late); ${before} → ${after} bytes (${percent.toFixed(1)}%)`,
  );
}

async function measureFacts(
  bench: Bench,
  { folders, remember }: { folders: Folder[]; remember: Fact[] },
): Promise<void> {
  const { createMemoryService, sqlite } = await importService();
  let script: { operations: object[]; verdicts: object[] } = { operations: [], verdicts: [] };
  const usage = { characters: 0, calls: 0 };
  const model: ModelProvider = {
    name: 'scripted',
    model: 'scripted',
    generate({ system, prompt, schema }: GenerateRequest) {
      const isVerdict = JSON.stringify(schema).includes('memory_edit_verdicts');
      usage.calls += 1;
      usage.characters += system.length + prompt.length;
      const text = JSON.stringify(
        isVerdict ? { verdicts: script.verdicts } : { operations: script.operations },
      );
      return Promise.resolve({ text, inputTokens: 1, outputTokens: 1 });
    },
  };
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(await bench.makeDirectory('remember'), 'memory.db') }),
    model,
    now: () => NOW,
  });
  await service.start();
  const tally = { good: [0, 0], right: [0, 0], naive: [0, 0] } satisfies Record<string, number[]>;
  try {
    for (const [index, fact] of remember.entries()) {
      for (const isNaive of fact.good ? [false] : [false, true]) {
        const userId = `user${index}${isNaive ? 'n' : ''}`;
        const folder = folders.find(({ user }) => user === fact.user);
        for (const [name, parts] of Object.entries(folder?.files ?? {})) {
          await service.tools.execute('memory_write', {
            context: { userId },
            arguments: { path: name, content: parts.join('') },
          });
        }
        const operations = fact.operations.map(toProposal);
        const verdicts = operations.map(({ kind }, at) => ({
          operation: at + 1,
          lost: [],
          added: [],
          verdict: fact.good || isNaive ? (kind === 'supersede' ? 'replaces' : 'keeps') : 'wrong',
        }));
        script = { operations, verdicts };
        // A right verifier says of an update that changes a value that it replaces it.
        if (fact.good)
          script.verdicts = verdicts.map((one, at) =>
            operations[at]?.kind === 'update' ? { ...one, verdict: 'replaces' } : one,
          );
        const row = fact.good ? tally.good : isNaive ? tally.naive : tally.right;
        row[1] = (row[1] ?? 0) + 1;
        let outcome = '';
        try {
          const { result } = await service.tools.execute('memory_remember', {
            context: { userId },
            arguments: { text: fact.text },
          });
          const { writes, refused, unchanged } = result as {
            writes: unknown[];
            refused: { why: string }[];
            unchanged: boolean;
          };
          if (
            fact.good ? refused.length === 0 && (writes.length > 0 || unchanged) : writes.length > 0
          )
            row[0] = (row[0] ?? 0) + 1;
          outcome = refused.map(({ why }) => why).join('; ');
          if (!fact.good && isNaive && writes.length > 0)
            bench.report.note(`harmful fact ${index} stored with a naive verifier`);
        } catch (error) {
          outcome = String(error);
        }
        if (fact.good && outcome !== '') bench.report.note(`good fact ${index}: ${outcome}`);
      }
    }
  } finally {
    await service.close();
  }
  const share = ([some = 0, all = 0]: number[]) => `${some} of ${all}`;
  bench.report.note(`good facts stored: ${share(tally.good)}`);
  bench.report.note(`harmful facts stored, verifier that is right: ${share(tally.right)}`);
  bench.report.note(`harmful facts stored, verifier that passes everything: ${share(tally.naive)}`);
  bench.report.note(
    `${usage.calls} calls of the model, ${Math.round(usage.characters / Math.max(1, usage.calls))} characters each`,
  );
}

function toPassing({ operation: { kind } }: ExaminedOperation): Verdict {
  return kind === 'supersede' ? 'replaces' : 'keeps';
}

function toMemory({ files }: Folder): EditedMemory {
  const edited = Object.entries(files).map(([name, parts]): EditedFile => {
    const times = parts.flatMap((part, at) =>
      Array<number>(part.split('\n').length - 1).fill(NOW - (1 + parts.length - at) * DAY),
    );
    return { path: name, version: 1, content: parts.join(''), times };
  });
  return { files: edited, paths: new Set(edited.map(({ path: name }) => name)) };
}

/** As a model proposes them; the number of a line is not told, its text is. */
function toOperations(edits: readonly Edit[]) {
  const operations = edits.map(({ kind, remove, add, sources }) => ({
    ...{ kind, reason: '', add },
    remove: remove.map((line) => ({ ...line, line: 0 })),
    sources: sources.map((line) => ({ ...line, line: 0 })),
  }));
  return parseEdits(JSON.stringify({ operations }), DREAM_KINDS)?.operations ?? [];
}

function toProposal({ kind, path: name, old, heading = null, lines }: Fact['operations'][number]) {
  const isAdd = old === undefined;
  return {
    kind:
      name === 'user/index.md'
        ? 'index'
        : isAdd
          ? 'add'
          : lines.length === 0
            ? 'supersede'
            : 'update',
    reason: kind,
    remove: isAdd ? [] : [{ path: name, line: 0, text: old }],
    add: lines.length === 0 ? null : { path: name, heading, lines },
    sources: [{ path: 'fact', line: 1, text: '' }],
  };
}
