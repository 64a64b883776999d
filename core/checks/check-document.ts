import type { ScopeKey } from '../contracts/records.ts';
import type { SettingCounter, Storage } from '../contracts/storage.ts';
import { toCount } from '../encoding/setting-count.ts';

/** The settings with the stored checks, as text, and with the number of their changes. */
export const CHECKS_TEXT = 'service_checks_text';
const CHECKS_VERSION = 'service_checks_version';

/** The stored checks, as they were written. */
export interface CheckDocument {
  /** YAML or JSON; empty without checks. */
  text: string;
  /** How often they were changed, from 1. */
  version: number;
}

/** Reads the stored checks. */
export async function readDocument({ config }: Pick<Storage, 'config'>): Promise<CheckDocument> {
  const entries = await config.entries('service_checks_');
  const text = entries[CHECKS_TEXT];
  return {
    text: typeof text === 'string' ? text : '',
    version: toCount(entries[CHECKS_VERSION]),
  };
}

/** The counter of the stored checks. */
export function toCounter(expected: number | undefined): SettingCounter {
  return { key: CHECKS_VERSION, expected };
}

/**
 * Removes stored checks: what an erasure or a redaction does with those that quote what has to go. The text is
 * then written anew, without comments. Returns how many are removed; in a dry run it only counts.
 *
 * @param options.isRemoved gets a check as it was written, with the one memory that it is about.
 * @param options.isIn whether a comment may not stay.
 */
export async function removeStoredChecks(
  storage: Pick<Storage, 'config' | 'mutate'>,
  {
    isRemoved,
    isIn = () => false,
    dryRun = false,
  }: {
    isRemoved: (check: object, scope: ScopeKey | null) => boolean;
    isIn?: (text: string) => boolean;
    dryRun?: boolean;
  },
): Promise<number> {
  const { text } = await readDocument(storage);
  if (text === '') return 0;
  const { withoutChecks } = await import('./without-checks.ts');
  const found = withoutChecks(text, { isRemoved, isIn });
  if (found === null || dryRun) return found?.removed ?? 0;
  return await storage.mutate(
    { scopes: [], files: [], settings: [CHECKS_TEXT, CHECKS_VERSION] },
    (current) => {
      const now = current.setting(CHECKS_TEXT)?.value;
      const next = typeof now === 'string' ? withoutChecks(now, { isRemoved, isIn }) : null;
      if (next === null) return { result: 0, writes: 0, changes: {} };
      const version = toCount(current.setting(CHECKS_VERSION)?.value) + 1;
      const settings = [
        { key: CHECKS_TEXT, setting: { value: next.text } },
        { key: CHECKS_VERSION, setting: { value: version } },
      ];
      return { result: next.removed, writes: 0, changes: { settings } };
    },
  );
}
