import { existsSync, readFileSync } from 'node:fs';
import type { AdminDreamOperation } from '../../core/schemas/dreams.ts';
import type { Bench, Suite } from './support/bench.ts';
import { type EditService, type Judge, openEditService } from './support/edit-service.ts';

const DAY = 24 * 60 * 60 * 1000;
const START = Date.UTC(2026, 10, 22, 12);

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

const passing: Judge = ({ kind }) => (kind === 'supersede' ? 'replaces' : 'keeps');
/** Of an update that changes a value, a verifier that is right says that it replaces it. */
const replacing: Judge = (one) => (one.kind === 'update' ? 'replaces' : passing(one));
const wrong: Judge = () => 'wrong';
const keeping: Judge = () => 'keeps';

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
    const service = await openEditService(bench, START);
    try {
      bench.report.row('Dreaming: a run of the service for each operation', []);
      await measureOperations(bench, service, data.folders);
      bench.report.row('Dreaming: one run with all good ones, then applying what waits', []);
      for (const folder of data.folders) await measureJointRun(bench, service, folder);
      bench.report.row('memory_remember', []);
      await measureFacts(bench, service, data);
      const { calls, characters } = service.usage;
      bench.report.note(
        `${calls} calls of the model, ${Math.round(characters / calls)} characters each`,
      );
    } finally {
      await service.close();
    }
  },
};

async function measureOperations(
  { report }: Bench,
  service: EditService,
  folders: readonly Folder[],
): Promise<void> {
  const counts = new Map<string, string[]>();
  const count = (name: string, id: string) => counts.set(name, [...(counts.get(name) ?? []), id]);
  const tryOut = async (folder: Folder, edit: Edit, judge: Judge, name: string) => {
    const userId = `${folder.user}-${edit.id}-${name}`;
    await writeFolder(service, userId, folder);
    service.script([toProposal(edit)], judge);
    const [operation] = (await service.dream(userId)).operations;
    return operation ?? { status: 'malformed', why: 'not of the form', guard: null };
  };
  for (const folder of folders) {
    for (const edit of folder.edits) {
      const side = edit.good ? 'good' : 'harmful';
      count(side, edit.id);
      const { status, why } = await tryOut(folder, edit, edit.good ? passing : wrong, 'right');
      count(`${side} ${status}`, edit.id);
      if (edit.good) {
        if (status === 'dropped') report.note(`${edit.id} is dropped: ${why}`);
        continue;
      }
      for (const [name, judge] of [
        ['keeps', keeping],
        ['passes', passing],
      ] as const) {
        const naive = await tryOut(folder, edit, judge, name);
        if (naive.status === 'applied') count(`harmful, ${name}`, edit.id);
      }
    }
  }
  const idsOf = (name: string) => counts.get(name) ?? [];
  const share = (of: string, ...names: string[]) => {
    const [some, all] = [names.flatMap(idsOf), idsOf(of).length];
    return `${some.length} of ${all} (${((100 * some.length) / Math.max(1, all)).toFixed(0)}%)`;
  };
  const rows = [
    ['good, applied or waiting', share('good', 'good applied', 'good waiting')],
    ['good, applied in auto, verifier right', share('good', 'good applied')],
    ['good that wait', idsOf('good waiting').join(' ') || 'none'],
    ['harmful, applied in auto, verifier right', share('harmful', 'harmful applied')],
    ...['keeps', 'passes'].map((name) => [
      `harmful, applied, verifier that ${name} everything`,
      `${share('harmful', `harmful, ${name}`)} ${idsOf(`harmful, ${name}`).join(' ')}`,
    ]),
  ];
  for (const [name, value] of rows) report.note(`| ${name} | ${value} |`);
}

async function measureJointRun(
  { report }: Bench,
  service: EditService,
  folder: Folder,
): Promise<void> {
  const good = folder.edits.filter((edit) => edit.good);
  if (good.length === 0) return;
  const userId = `${folder.user}-joint`;
  await writeFolder(service, userId, folder);
  const before = await measureMemory(service, userId, good);
  service.script(good.map(toProposal), passing);
  let run = await service.dream(userId);
  const applied = run.operations.filter(isApplied).length;
  const waiting = run.operations.filter(({ status }) => status === 'waiting');
  if (waiting.length > 0) {
    const numbers = waiting.map(({ number }) => number);
    run = await service.apply(run.id, numbers);
  }
  const after = await measureMemory(service, userId, good);
  const percent = (100 * (after.bytes - before.bytes)) / before.bytes;
  const left = run.operations.filter((one) => !isApplied(one));
  for (const [name, value] of [
    ['applied by the run, then by a person', `${applied}, ${waiting.length} of ${good.length}`],
    ['neither', left.map(({ number, why }) => `${number}: ${why}`).join('; ') || 'none'],
    ['bytes of memory', `${before.bytes} → ${after.bytes} (${percent.toFixed(1)}%)`],
    ['facts found at rank 1', `${before.found} → ${after.found} of ${good.length}`],
  ]) {
    report.note(`| ${folder.user}: ${name} | ${value} |`);
  }
}

const isApplied = ({ status }: AdminDreamOperation): boolean => status === 'applied';

/** The size of memory without the log of dreams, and how many facts of the edits a search finds. */
async function measureMemory(
  service: EditService,
  userId: string,
  edits: readonly Edit[],
): Promise<{ bytes: number; found: number }> {
  const { files } = (await service.tool(userId, 'memory_list', { limit: 500 })) as {
    files: { path: string; size: number }[];
  };
  const own = files.filter(({ path }) => path.startsWith('user/') && path !== 'user/dream-log.md');
  let found = 0;
  for (const edit of edits) found += Number(await isFound(service, userId, edit));
  return { bytes: own.reduce((sum, { size }) => sum + size, 0), found };
}

/** Asks with the words of what holds after the edit: the first line of the answer has all of them. */
async function isFound(service: EditService, userId: string, edit: Edit): Promise<boolean> {
  const wanted = edit.add?.lines ?? edit.sources.map(({ text }) => text);
  const query = wanted.join(' ');
  if (query === '') return true;
  const { results } = (await service.tool(userId, 'memory_find', {
    query,
    group: 'passage',
    limit: 1,
  })) as { results: { path: string; startLine: number; endLine: number; snippet: string }[] };
  const said = wordsOf(results[0]?.snippet ?? '');
  return [...wordsOf(query)].every((word) => said.has(word));
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);
}

async function measureFacts(
  { report }: Bench,
  service: EditService,
  { folders, remember }: { folders: Folder[]; remember: Fact[] },
): Promise<void> {
  const counts = { good: 0, harmful: 0, stored: 0, kept: 0, harm: 0, naive: [] as number[] };
  for (const [index, fact] of remember.entries()) {
    counts[fact.good ? 'good' : 'harmful'] += 1;
    for (const judge of fact.good ? [replacing] : [wrong, passing]) {
      const userId = `fact-${index}-${judge === passing ? 'passes' : 'right'}`;
      const folder = folders.find(({ user }) => user === fact.user);
      if (folder !== undefined) await writeFolder(service, userId, folder);
      service.script(fact.operations.map(toRemembered), judge);
      const { filed, refused, unchanged } = (await service.tool(userId, 'memory_remember', {
        text: fact.text,
      })) as { filed?: string; refused: { why: string }[]; unchanged: boolean };
      if (fact.good) {
        const isStored = filed === 'all' || unchanged;
        counts.stored += Number(isStored);
        counts.kept += Number(filed !== undefined || unchanged);
        if (!isStored)
          report.note(`good fact ${index}: ${refused.map(({ why }) => why).join('; ')}`);
      } else if (filed === 'all' || filed === 'part') {
        if (judge === passing) counts.naive.push(index);
        else counts.harm += 1;
      }
    }
  }
  const { good, harmful, stored, kept, harm, naive } = counts;
  report.note(`| good facts kept, in the inbox or filed | ${kept} of ${good} |`);
  report.note(`| good facts stored | ${stored} of ${good} |`);
  report.note(`| harmful facts stored, verifier right | ${harm} of ${harmful} |`);
  report.note(
    `| harmful facts stored, verifier that passes everything | ${naive.length} of ${harmful}: ${naive.join(' ')} |`,
  );
}

/** As an agent would have written it, a day between the parts; the clock goes on. */
async function writeFolder(service: EditService, userId: string, { files }: Folder): Promise<void> {
  const parts = Math.max(...Object.values(files).map((texts) => texts.length));
  service.clock.now = START - parts * DAY;
  for (let part = 1; part <= parts; part += 1) {
    for (const [path, texts] of Object.entries(files)) {
      if (texts[part - 1] === undefined) continue;
      const content = texts.slice(0, part).join('');
      await service.tool(userId, 'memory_write', { path, content });
    }
    service.clock.now += DAY;
  }
}

/** As a model proposes it; the number of a line is not told, its text is. */
function toProposal({ kind, remove, add, sources }: Edit): object {
  const toLine = (line: Line) => ({ ...line, line: 0 });
  return { kind, reason: '', remove: remove.map(toLine), add, sources: sources.map(toLine) };
}

function toRemembered({ path, old, heading = null, lines }: Fact['operations'][number]): object {
  const isAdd = old === undefined;
  const kind = isAdd ? 'add' : lines.length === 0 ? 'supersede' : 'update';
  return {
    kind: path === 'user/index.md' ? 'index' : kind,
    reason: '',
    remove: isAdd ? [] : [{ path, line: 0, text: old }],
    add: lines.length === 0 ? null : { path, heading, lines },
    sources: [{ path: 'fact', line: 1, text: '' }],
  };
}
