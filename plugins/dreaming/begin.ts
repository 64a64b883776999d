import type { DreamRunRecord, DreamUserRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError } from '../../core/errors.ts';
import { dreamLeaseOf } from '../../core/files/dream-names.ts';
import { toActiveRun, type ActiveRun, type RunParts } from './active-run.ts';
import { judgeUser } from './eligibility.ts';
import { assertOpen } from './hold-run.ts';
import { keepLease } from './lease.ts';
import { recoverUser } from './recover.ts';
import type { DreamSettings } from './settings.ts';
import { MIN_RUN_TOKENS, tokensLeft } from './tokens.ts';
import { newRun } from './transitions.ts';

/**
 * Puts a run of a user down, under a lease on that user; `null` where another instance has it, or
 * where there turned out to be none to do.
 *
 * @throws MemoryError `DREAM_RUNNING` while a run awaits review; `QUOTA_EXCEEDED` when the user's
 * tokens of the day are used up.
 */
export async function beginRun(
  parts: RunParts,
  userId: string,
  options: {
    origin: DreamRunRecord['origin'];
    dryRun: boolean;
    settings: DreamSettings;
    caller: AuditCaller | null;
  },
): Promise<ActiveRun | null> {
  const { origin, dryRun, settings, caller } = options;
  const { host, dreams, breaker, active } = parts;
  assertOpen(parts);
  const scope: ScopeKey = `u:${userId}`;
  const patienceMs = settings.dream_run_timeout_seconds * 1_000;
  const kept = await keepLease(host, dreamLeaseOf(userId), { patienceMs });
  if (kept === null) return null;
  try {
    await recoverUser(parts, scope, kept);
    const user = await dreams.user(scope);
    const now = host.now();
    if (origin === 'schedule') {
      // Another instance may have been here since the user was looked up.
      const isDue =
        user !== null &&
        judgeUser(user, {
          settings,
          now,
          hasModel: host.model !== null,
          isModelResting: breaker.pauseMs > 0,
        }) === null;
      if (!isDue) {
        await kept.release();
        return null;
      }
    } else if (tokensLeft(user?.record ?? null, settings, now) < MIN_RUN_TOKENS) {
      throw new MemoryError('QUOTA_EXCEEDED', 'The user’s tokens of this day are used up.', {
        details: {
          limit: 'dream_max_tokens_per_user_day',
          max: settings.dream_max_tokens_per_user_day,
        },
      });
    }
    const id = host.newId();
    const lease = { name: kept.name, fence: kept.fence };
    await dreams.update({ scope, runId: id, lease }, ({ user: record }) => {
      if (!dryRun && record.status === 'awaiting_review') {
        throw new MemoryError('DREAM_RUNNING', 'A run of this user awaits review.', {
          details: { runId: record.runId },
        });
      }
      const run = newRun({ id, scope, origin, dryRun, settings, now, fence: kept.fence });
      const next: DreamUserRecord = {
        ...record,
        status: 'queued',
        runId: id,
        runs: record.runs + 1,
        fence: kept.fence,
      };
      return {
        result: null,
        run,
        ...(dryRun ? {} : { user: next }),
        ...(caller === null
          ? {}
          : {
              audit: {
                action: 'dream.run',
                target: userId,
                details: { runId: id, dryRun },
                caller,
              },
            }),
      };
    });
    const run = toActiveRun(parts, { id, scope }, kept, 'dream.run');
    active.set(id, run);
    return run;
  } catch (error) {
    await kept.release();
    throw error;
  }
}
