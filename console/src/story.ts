import type { AdminAccess, AdminRevision } from '../../core/contracts/admin.ts';

/** One step of a tool call. */
export interface StoryStep {
  action: AdminAccess['action'];
  outcome: AdminAccess['outcome'];
  icon: string;
  /** `Searched and found 3 files`. */
  text: string;
  rows: readonly AdminAccess[];
}

/** A tool call, described by its file accesses. */
export interface Story {
  /** `Read 3 files, then wrote 1`. */
  summary: string;
  steps: readonly StoryStep[];
}

const ICONS: Readonly<Record<AdminAccess['action'], string>> = {
  list: 'i-lucide-list-tree',
  find: 'i-lucide-search',
  context: 'i-lucide-library',
  read: 'i-lucide-book-open',
  write: 'i-lucide-pencil',
};

/** Describes the access rows of one tool call. Consecutive rows of one kind form a step. */
export function tell(rows: readonly AdminAccess[]): Story {
  const steps: StoryStep[] = [];
  for (const group of groupNeighbours(sorted(rows))) {
    const [first] = group;
    if (first === undefined) continue;
    const { action, outcome } = first;
    const isRefused = outcome !== 'ok';
    steps.push({
      action,
      outcome,
      icon: isRefused ? 'i-lucide-circle-x' : ICONS[action],
      text: isRefused ? tellRefusal(group) : tellStep(group),
      rows: group,
    });
  }
  const [first, ...rest] = steps.map(({ text }) => text);
  const summary = [first ?? 'No file accesses', ...rest.map(lowerFirst)].join(', then ');
  return { summary, steps };
}

/**
 * Groups rows by tool call, in the order of the list. The rows of a dream run form one group; other
 * rows without a tool call are groups of their own.
 */
export function groupByCall(
  rows: readonly AdminAccess[],
): { key: string; rows: readonly AdminAccess[] }[] {
  const groups = new Map<string, AdminAccess[]>();
  for (const row of rows) {
    const key = row.toolCallId ?? row.runId ?? row.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups].map(([key, group]) => ({ key, rows: group }));
}

/** `+3 −1` of a revision, in words. */
export function tellChange({ addedLines, removedLines, action }: AdminRevision): string {
  const lines = [
    ...(addedLines > 0 ? [`${count(addedLines, 'line')} added`] : []),
    ...(removedLines > 0 ? [`${count(removedLines, 'line')} removed`] : []),
  ];
  return lines.length === 0 ? action : lines.join(', ');
}

/** `1 file`, `3 files`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}

/** A value of the API as people read it: `not_found` is `not found`. */
export function toWords(value: string): string {
  return value.replaceAll('_', ' ');
}

// By id, and so by time; the results of one search by rank.
function sorted(rows: readonly AdminAccess[]): AdminAccess[] {
  return [...rows].sort(
    (a, b) =>
      (a.rank !== null && b.rank !== null && a.action === b.action ? a.rank - b.rank : 0) ||
      (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
}

function groupNeighbours(rows: readonly AdminAccess[]): AdminAccess[][] {
  const groups: AdminAccess[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    const isSame = last?.[0]?.action === row.action && last[0].outcome === row.outcome;
    if (last !== undefined && isSame) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

function tellStep(group: readonly AdminAccess[]): string {
  const paths = [...new Set(group.map(({ path }) => path))];
  // A single file is named; the list below shows its folder.
  const files = paths.length === 1 ? nameOf(paths[0] ?? '') : count(paths.length, 'file');
  switch (group[0]?.action) {
    case 'find':
      // A memory that fits is given whole, also what the question does not match.
      return group[0].tool === 'memory_context'
        ? `Gave ${files}, as memory fits whole`
        : `Searched and found ${files}`;
    case 'context':
      return `Gathered context from ${files}`;
    case 'read':
      return `Read ${files}`;
    case 'write':
      return `Wrote ${files}`;
    default:
      return `Listed ${group[0]?.path ?? 'files'}`;
  }
}

function tellRefusal(group: readonly AdminAccess[]): string {
  const [first] = group;
  const verb = first?.action === 'write' ? 'write' : 'read';
  const path = first?.path ?? '';
  switch (first?.outcome) {
    case 'denied':
      return `Tried to write ${path} and was refused: shared memory is read-only for tools`;
    case 'not_found':
      return `Tried to ${verb} ${path}, which does not exist`;
    default:
      return `Tried to ${verb} ${path} and failed`;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
