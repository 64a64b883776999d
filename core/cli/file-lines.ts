import type { EraseAnswer } from '../contracts/admin.ts';

/** What a receipt says about the file of the database, and the copies beside it. */
export function fileLines({
  dryRun,
  pending,
  copies,
}: Pick<EraseAnswer, 'dryRun' | 'pending' | 'copies'>): string[] {
  const isLeft = copies.some(({ removed }) => !removed);
  return [
    ...(pending.length === 0
      ? []
      : [
          `Pending: ${pending.join(', ')}. Its pages may still have the text. The service rewrites them`,
          '  within a day, and the status and the audit say when it is done. memory-service vacuum does it now.',
        ]),
    ...(copies.length === 0 ? [] : ['Copies of the database beside it:']),
    ...copies.map(({ name, bytes, removed }) =>
      removed ? `  ${name} (removed)` : `  ${name} (${bytes} bytes, may have the text)`,
    ),
    ...(isLeft && !copies.some(({ removed }) => removed)
      ? [
          dryRun
            ? '  With --yes --remove-copies those that the service made are removed.'
            : '  --remove-copies removes those that the service made.',
        ]
      : []),
  ];
}
