import type {
  AdminCheckRun,
  AdminCheckRuns,
  CheckChange,
  CheckResult,
} from '../../core/contracts/admin.ts';

/** What an editor without checks begins with. */
export const EXAMPLE = `# What must hold of memory. The service runs these checks every night,
# and dreams try their changes against them.
checks:
  - name: Alice's allergy is found
    user: alice
    ask: What am I allergic to?
    expect: { line: Allergic to peanuts, within: 3 }
  - name: no keys anywhere
    everywhere: { absent: { secret: true } }
  - name: profiles stay short
    each_user: { path: user/profile.md, max_bytes: 8192 }
`;

/** What a run was for. */
export const ORIGINS: Readonly<Record<AdminCheckRun['origin'], string>> = {
  hand: 'by hand',
  nightly: 'nightly',
  embedder: 'around an embedding',
};

/** A run of a check, in its strip; `passed` is `null` where the check was not in it. */
export interface StripCell {
  runId: string;
  at: string;
  passed: boolean | null;
  rank: number | null | undefined;
}

/** The outcomes of a check in the newest runs, oldest first. */
export function toStrip(name: string, { items, checks }: AdminCheckRuns, length = 30): StripCell[] {
  const outcomes = checks.find((one) => one.name === name)?.outcomes ?? [];
  return items
    .slice(0, length)
    .map(({ id, at }) => {
      const one = outcomes.find(({ runId }) => runId === id);
      return { runId: id, at, passed: one?.passed ?? null, rank: one?.rank };
    })
    .reverse();
}

/** Failed checks first, then those that got worse, then the others, each in their order. */
export function sortResults(
  results: readonly CheckResult[],
  changes: readonly CheckChange[],
): CheckResult[] {
  const isWorse = new Set(changes.filter(({ isBetter }) => !isBetter).map(({ name }) => name));
  const rank = ({ passed, name }: CheckResult) => (passed ? (isWorse.has(name) ? 1 : 2) : 0);
  return results.toSorted((one, other) => rank(one) - rank(other));
}

/** `2 got worse, 1 got better`; `null` where nothing changed. */
export function tellChanges(changes: readonly CheckChange[]): string | null {
  const better = changes.filter(({ isBetter }) => isBetter).length;
  const worse = changes.length - better;
  const parts = [
    ...(worse > 0 ? [`${worse} got worse`] : []),
    ...(better > 0 ? [`${better} got better`] : []),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

/** Why a check fails, with the name that may be meant. */
export function tellFault({ why = '', near }: CheckResult): string {
  return near === undefined ? why : `${why} Did you mean ${near}?`;
}

/** Where a place is shown: a line of a file, a file, or a user's files. */
export function placeOf({ path, lines }: { path: string; lines: readonly number[] }) {
  if (path.endsWith('/')) return { name: 'files', query: { folder: path } };
  const [line] = lines;
  return { name: 'files', query: { path, ...(line === undefined ? {} : { line }) } };
}
