import type { Connection } from '../../dialect.ts';
import { column, index, integer, type Migration } from '../migration.ts';
import { toInteger, toText } from '../rows.ts';

/** Runs that are rewritten at once. */
const BATCH = 50;

/**
 * Operations of dream runs wait for a person, where whole runs did. Nobody has to look at the proposals
 * of today once more: each change that waits in one becomes an operation that waits.
 */
export const dreamOperations: Migration = {
  version: 8,
  name: 'dream operations',
  steps: [
    column('svc_dream_run', integer('waiting'), 0),
    column('svc_dream_run', { name: 'rejected', kind: 'content', nullable: true }),
    column('svc_dream_history', integer('waiting'), 0),
    column('svc_dream_history', integer('is_waiting'), 0),
    index('svc_dream_history_waiting', 'svc_dream_history', ['is_waiting', 'id']),
    { changeRows: { name: 'turn proposals into operations', run: convertProposals } },
  ],
};

/** What a run of version 5 kept of its proposal. */
interface Earlier {
  operations?: readonly {
    kind: string;
    reason: string;
    paths: readonly string[];
    status: 'applied' | 'dropped';
    check: string | null;
    why: string | null;
  }[];
  malformed?: number;
  files?: readonly {
    path: string;
    reason: string;
    status: string;
    after: string | null;
    diff: string | null;
  }[];
  leftOut?: readonly string[];
  maxWrites?: number;
  traceId?: string | null;
}

/** Repeatable: a run that was rewritten does not await review any more. */
async function convertProposals(connection: Connection): Promise<void> {
  for (;;) {
    const rows = await connection.all(
      // Also a decision on a proposal that was cut off.
      'select scope_id, id, details from svc_dream_history where ended_at is null' +
        " and (state = 'awaiting_review' or (state = 'running' and mode = 'review'" +
        ' and details like \'%"after"%\')) order by id limit ?',
      [BATCH],
    );
    for (const row of rows) {
      // eslint-disable-next-line no-restricted-syntax -- this service wrote it
      const { details, waiting } = convertDetails(JSON.parse(toText(row['details'])) as Earlier);
      await connection.run(
        "update svc_dream_history set state = 'completed', outcome = ?, ended_at = ?, applied = 0," +
          ' waiting = ?, is_waiting = ?, details = ? where scope_id = ? and id = ?',
        [
          waiting > 0 ? 'waiting' : 'no_op',
          // Operations wait from the end of their run on: nobody has had the time to look at these.
          Date.now(),
          waiting,
          waiting > 0 ? 1 : 0,
          JSON.stringify(details),
          toInteger(row['scope_id']),
          row['id'] as Uint8Array,
        ],
      );
    }
    if (rows.length < BATCH) break;
  }
  // Counted at the end, so that a repeat counts the same.
  await connection.run(
    'update svc_dream_run set waiting = (select coalesce(sum(h.waiting), 0)' +
      ' from svc_dream_history h where h.scope_id = svc_dream_run.scope_id)',
    [],
  );
  await connection.run(
    "update svc_dream_run set status = 'completed' where status = 'awaiting_review'",
    [],
  );
}

interface Line {
  path: string;
  line: number | null;
  text: string;
}

/** Lines that one place of a file loses and gets. */
interface Change {
  path: string;
  reason: string;
  removed: Line[];
  added: string[];
  /** The headings above the place, as it is after the change. */
  headings: string[];
  /** A line that stays next to it. */
  beside: Line | null;
}

/** Each change of a file that waits becomes an operation: a person looks at it, and applies it. */
function convertDetails(earlier: Earlier): { details: object; waiting: number } {
  const { operations = [], files = [], malformed = 0, leftOut = [] } = earlier;
  const changes = files
    .filter(({ status }) => status === 'proposed')
    .flatMap(({ path, diff, after, reason }) => listChanges({ path, diff, after, reason }));
  const waiting = joinMoves(changes).map(({ from, to }, index) => {
    const kind = from !== to ? 'move' : from.added.length > 0 ? 'reword' : 'merge';
    const all = operations.find(({ paths }) => paths.includes(from.path));
    const isOwn = from !== to || to.removed.length > 0;
    const heading = from === to && isOwn ? null : (to.headings.at(-1) ?? null);
    const add = to.added.length === 0 ? null : { path: to.path, heading, lines: to.added };
    const sources = kind === 'merge' && from.beside !== null ? [from.beside] : [];
    return toOperation(index + 1, {
      kind: isOwn ? kind : 'index',
      reason: all?.reason ?? from.reason,
      remove: from.removed,
      add,
      sources,
      headings: { from: from.headings, to: to.headings },
    });
  });
  const dropped = operations
    .filter(({ status }) => status === 'dropped')
    .map(({ kind, reason, paths, check, why }, index) => ({
      ...toOperation(waiting.length + index + 1, {
        kind,
        reason,
        add: null,
        sources: [],
        headings: { from: [], to: [] },
        remove: paths.map((path) => ({ path, line: null, text: '' })),
      }),
      status: 'dropped',
      guard: check,
      why,
      isPreselected: false,
    }));
  const { maxWrites = 1, traceId = null } = earlier;
  return {
    waiting: waiting.length,
    details: {
      operations: [...waiting, ...dropped],
      malformed,
      repeated: 0,
      leftOut,
      parts: [],
      maxWrites,
      verifier: null,
      traceId,
      writing: null,
      reverted: [],
    },
  };
}

function toOperation(
  number: number,
  given: {
    kind: string;
    reason: string;
    remove: readonly Line[];
    add: { path: string; heading: string | null; lines: readonly string[] } | null;
    sources: readonly Line[];
    headings: { from: readonly string[]; to: readonly string[] };
  },
) {
  const { kind, reason, remove, add, sources, headings } = given;
  const toTrail = (titles: readonly string[]) => (titles.length === 0 ? null : titles.join(' > '));
  const toView = (line: Line) => ({ ...line, heading: toTrail(headings.from), at: null });
  return {
    operation: { number, kind, reason, remove, add, sources },
    remove: remove.map(toView),
    add: add === null ? null : { ...add, heading: toTrail(headings.to) },
    sources: sources.map(toView),
    class: 'meaning',
    signals: [],
    verdict: null,
    guard: null,
    status: 'waiting',
    isPreselected: true,
    why: 'it was proposed by an earlier version',
    // Its lines are located when somebody applies it.
    isUnlocated: true,
  };
}

/** A change that takes lines, and the one that gets the same lines: a move. */
function joinMoves(changes: readonly Change[]): { from: Change; to: Change }[] {
  const taken = new Set<Change>();
  const pairs: { from: Change; to: Change }[] = [];
  const textOf = (lines: readonly string[]) => lines.map((line) => line.trim()).join('\n');
  for (const from of changes) {
    if (from.added.length > 0) continue;
    const lines = textOf(from.removed.map(({ text }) => text));
    const to = changes.find(
      (one) => one.removed.length === 0 && !taken.has(one) && textOf(one.added) === lines,
    );
    if (to !== undefined) taken.add(to);
    pairs.push({ from, to: to ?? from });
  }
  const rest = changes.filter((one) => one.added.length > 0 && !taken.has(one));
  return [...pairs, ...rest.map((one) => ({ from: one, to: one }))];
}

/** Takes a unified diff apart into its changes. */
function listChanges({
  path,
  diff,
  after,
  reason,
}: {
  path: string;
  diff: string | null;
  after: string | null;
  reason: string;
}): Change[] {
  const changes: Change[] = [];
  let [oldLine, newLine] = [0, 0];
  let open: Change | null = null;
  let last: Line | null = null;
  for (const row of (diff ?? '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)/.exec(row);
    if (hunk !== null) {
      oldLine = Number(hunk[1]) + (hunk[2] === '0' ? 1 : 0);
      newLine = Number(hunk[3]);
      open = null;
      last = null;
      continue;
    }
    const sign = row[0];
    const text = row.slice(1);
    if (oldLine === 0 && newLine === 0) continue;
    if (sign === '-' || sign === '+') {
      if (open === null) {
        const headings = headingsAt(after ?? '', newLine);
        open = { path, reason, removed: [], added: [], headings, beside: last };
        changes.push(open);
      }
      if (sign === '-') open.removed.push({ path, line: oldLine++, text });
      else {
        open.added.push(text);
        newLine += 1;
      }
    } else if (sign === ' ') {
      const line = { path, line: oldLine, text };
      if (open !== null && (open.beside === null || open.beside.text.trim() === '')) {
        open.beside = text.trim() === '' ? open.beside : line;
      }
      if (text.trim() !== '') last = line;
      open = null;
      oldLine += 1;
      newLine += 1;
    }
  }
  // A blank line or a heading that comes with lines is made anew when they are written.
  const isFact = (text: string) => text.trim() !== '' && !/^#{1,6}\s/.test(text);
  return changes
    .map((change) => {
      const own = change.added.filter((text) => /^#{1,6}\s/.test(text)).at(-1);
      const headings =
        own === undefined
          ? change.headings
          : [...change.headings, own.replace(/^#+\s+/, '').trim()];
      return {
        ...change,
        headings,
        added: change.added.filter(isFact),
        removed: change.removed.filter(({ text }) => text.trim() !== ''),
      };
    })
    .filter(({ removed, added }) => removed.length + added.length > 0);
}

/** The headings above a line of a content, outermost first. */
function headingsAt(content: string, line: number): string[] {
  const found: { level: number; title: string }[] = [];
  for (const text of content.split('\n').slice(0, Math.max(0, line - 1))) {
    const [, marks = '', rest = ''] = /^(#{1,6})\s(.*)$/.exec(text) ?? [];
    const title = rest.trim();
    if (marks === '') continue;
    while ((found.at(-1)?.level ?? 0) >= marks.length) found.pop();
    found.push({ level: marks.length, title });
  }
  return found.map(({ title }) => title);
}
