import type { Operation } from '../../../plugins/dreaming/operations.ts';
import { type Snapshot, toSnapshotFile } from '../../../plugins/dreaming/snapshot-file.ts';

/** A snapshot of files by their virtual paths, every line of one file as old as all others. */
export function snapshotOf(
  contents: Readonly<Record<string, string>>,
  times: Readonly<Record<string, readonly number[]>> = {},
): Snapshot {
  const files = Object.entries(contents).map(([path, content], index) =>
    toSnapshotFile({
      path,
      version: 1,
      fileNo: index + 1,
      revisionId: '00000000-0000-7000-8000-000000000000',
      content,
      times: times[path] ?? content.split('\n').map(() => 1_000 + index),
    }),
  );
  return {
    files: new Map(files.map((file) => [file.path, file])),
    paths: new Set(Object.keys(contents)),
  };
}

/** Makes operations on files whose lines are named by their numbers. */
export function operationsOn(contents: Readonly<Record<string, string>>) {
  const textOf = (path: string, line: number) => contents[path]?.split('\n')[line - 1] ?? '';
  return (
    kind: Operation['kind'],
    more: {
      remove?: readonly (readonly [string, number])[];
      add?: Operation['add'];
      sources?: readonly (readonly [string, number])[];
      reason?: string;
    },
  ): Operation => ({
    kind,
    reason: more.reason ?? 'as it should be',
    remove: (more.remove ?? []).map(([path, line]) => ({ path, line, text: textOf(path, line) })),
    add: more.add ?? null,
    sources: (more.sources ?? []).map(([path, line]) => ({ path, line })),
  });
}
