import type { AuditCaller } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { readRows } from '../lists/page.ts';
import type { ImportSummary } from '../schemas/archive.ts';
import { type AuditEntry, NOBODY, writeAudit } from '../telemetry/audit.ts';

/** What is imported, and who asked for it. */
interface ImportAbout {
  /** What the audit calls the memory. */
  target: string;
  caller: AuditCaller | null;
}

const ACTION = 'memory.import';
/** What began longer ago, and has not ended, was cut off. */
export const LONGEST_IMPORT_MS = 24 * 3_600_000;

/** How many imports have ended since a moment, and whether one is under way, or was cut off. */
export async function findImports(
  { audit }: Pick<Storage, 'audit'>,
  since: number,
): Promise<{ ended: number; isOpen: boolean }> {
  const open = new Map<string, number>();
  let ended = 0;
  const filter = { action: ACTION, since };
  for await (const { target, details } of readRows((page) => audit.list(filter, page))) {
    const isEnd = details?.['step'] === 'end';
    ended += Number(isEnd);
    open.set(target, Math.max(0, (open.get(target) ?? 0) + (isEnd ? -1 : 1)));
  }
  return { ended, isOpen: [...open.values()].some((count) => count > 0) };
}

/** The two audit rows of an import. */
export class ImportAudit {
  readonly #deps: Parameters<typeof writeAudit>[0];
  readonly #about: ImportAbout;
  /** The first row, until a write has taken it into its transaction. */
  #begin: AuditEntry | null;

  /** `details` are those of the first row. */
  constructor(
    deps: Parameters<typeof writeAudit>[0],
    { details, ...about }: ImportAbout & { details: Record<string, unknown> },
  ) {
    this.#deps = deps;
    this.#about = about;
    this.#begin = this.#toEntry({ step: 'begin', ...details });
  }

  get isWaiting(): boolean {
    return this.#begin !== null;
  }

  /** The first row, for the transaction of the first write; `null` if another write has it. */
  take(): AuditEntry | null {
    const taken = this.#begin;
    this.#begin = null;
    return taken;
  }

  /** For the next write, because the one that took it failed. */
  giveBack(taken: AuditEntry | null): void {
    this.#begin = taken;
  }

  async end(
    { dryRun: _, ...counts }: ImportSummary,
    { isComplete }: { isComplete: boolean },
  ): Promise<void> {
    const begin = this.take();
    if (begin !== null) await writeAudit(this.#deps, begin);
    await writeAudit(this.#deps, this.#toEntry({ step: 'end', isComplete, ...counts }));
  }

  #toEntry(details: Record<string, unknown>): AuditEntry {
    const { target, caller } = this.#about;
    return { action: ACTION, target, details, ...(caller ?? NOBODY) };
  }
}
