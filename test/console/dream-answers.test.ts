import { describe, expect, it } from 'vitest';
import {
  NUMBER_SETTINGS,
  RUN_STATES,
  SKIP_REASONS,
  tellDecided,
  tellDreaming,
  tellReverted,
  tellWhy,
} from '../../console/src/dream-answers.ts';
import { DreamState } from '../../core/schemas/dreams.ts';
import { SKIP_REASONS as REASONS } from '../../plugins/dreaming/eligibility.ts';
import { SETTING_SCHEMAS } from '../../plugins/dreaming/settings.ts';

// The console's bundle has no schemas: its own lists are compared here.

it('the console lists every state of a run, and has words for every reason to skip a user', () => {
  expect(RUN_STATES).toEqual(DreamState.enum);
  expect(Object.keys(SKIP_REASONS)).toEqual([...REASONS]);
});

it('the console’s number settings have the bounds that the service checks', () => {
  const schemas = SETTING_SCHEMAS as unknown as Record<
    string,
    { minimum?: number; maximum?: number }
  >;
  const numbers = Object.entries(schemas)
    .filter(([, { minimum }]) => minimum !== undefined)
    .map(([key, { minimum, maximum }]) => ({ key, min: minimum, max: maximum }));
  expect(NUMBER_SETTINGS.map(({ key, min, max }) => ({ key, min, max }))).toEqual(numbers);
});

it('why an operation waits is told in the words of the service, and only while it holds', () => {
  const tell = (changes: object) =>
    tellWhy({
      status: 'waiting',
      why: null,
      checks: [],
      signals: [],
      repaired: [],
      verdict: null,
      preselected: false,
      ...changes,
    } as unknown as Parameters<typeof tellWhy>[0]);
  expect(tell({ status: 'waiting', why: 'check', checks: ['her violin', 'b'] })).toBe(
    'checks would fail with it: “her violin”, “b”',
  );
  expect(tell({ status: 'stale', why: 'its line is gone: see line 4' })).toBe(
    'its line is gone: see line 4',
  );
  expect(tell({ preselected: true })).toBe(
    'in review, everything waits; nothing speaks against it',
  );
  expect(tell({ status: 'applied', why: 'A task would be closed.' })).toBeNull();
});

describe('what became of a decision', () => {
  it('is told operation by operation, with why one was not applied', () => {
    const applied = (number: number) => ({ number, status: 'applied' as const, why: null });
    const stale = { number: 4, status: 'stale' as const, why: 'its line is gone.' };
    expect(tellDecided([applied(3)])).toBe('Operation 3 was applied.');
    expect(tellDecided([applied(1), applied(2), stale, applied(3)])).toBe(
      'Operations 1, 2 and 3 were applied; 4 is stale: its line is gone.',
    );
    expect(tellDecided([{ number: 7, status: 'rejected', why: null }])).toBe(
      'Operation 7 was rejected.',
    );
    expect(tellDecided([])).toBe('No operation was left to decide on.');
  });

  it('of a revert is never only “reverted” when files were left', () => {
    const put = { path: 'users/a/x.md', version: 4, revisionId: 'r', why: null };
    const same = { ...put, version: 0, revisionId: null };
    const kept = { path: 'users/a/y.md', outcome: 'changed_since', why: 'somebody wrote it since' };
    const tell = (reverted: unknown[], left: unknown[]) =>
      tellReverted({ reverted, left } as Parameters<typeof tellReverted>[0]);
    expect(tell([put], [])).toMatchObject({
      text: 'The run was reverted: 1 file put back.',
      isWhole: true,
    });
    expect(tell([same], []).text).toBe('The run was reverted: nothing had to be put back.');
    expect(tell([put], [kept])).toEqual({
      text: 'The run was reverted in part: 1 file put back, 1 file left as it is.',
      isWhole: false,
      files: [
        { path: 'users/a/x.md', outcome: 'put back as version 4', why: null },
        { path: 'users/a/y.md', outcome: 'left', why: 'somebody wrote it since' },
      ],
    });
    expect(tell([], [kept]).text).toBe('Nothing was put back: 1 file left as it is.');
  });
});

describe('what holds about dreaming', () => {
  const config = {
    dream_enabled: true,
    dream_interval_minutes: 60,
    dream_mode: 'auto',
    schedulerStarted: true,
  };
  const status = {
    model: { configured: true, hint: null },
    scheduler: { configured: true, hint: null },
    dreaming: { operationsWaiting: 0 },
  };
  const tell = (changes: object, changed: object = {}) =>
    tellDreaming(
      { ...config, ...changes } as Parameters<typeof tellDreaming>[0],
      { ...status, ...changed } as Parameters<typeof tellDreaming>[1],
    );
  const off = { configured: false, hint: 'Set it.' };

  it('is one sentence, about the first obstacle alone, with the one thing to do', () => {
    expect(tell({ dream_enabled: false, schedulerStarted: false }, { model: off })).toEqual({
      tone: 'warn',
      text: 'Dreaming cannot run: no model is configured.',
      hint: 'Set it.',
      action: null,
    });
    expect(tell({ invalidKeys: ['dream_mode'], dream_enabled: false })).toMatchObject({
      text: 'Dreaming holds back: the stored dream_mode cannot be read, so a safe value is used.',
      action: 'settings',
    });
    expect(
      tell({ dream_enabled: false, schedulerStarted: false }, { scheduler: off }),
    ).toMatchObject({
      text: 'Runs start only by hand: the scheduler is not running.',
      hint: 'Set it.',
    });
    expect(tell({ dream_enabled: false })).toMatchObject({
      text: 'Dreaming is off: runs start only by hand.',
      action: 'enable',
    });
  });

  it('says how many operations wait where nothing is in the way', () => {
    expect(tell({}, { dreaming: { operationsWaiting: 4 } })).toMatchObject({
      text: 'Dreaming is on: it looks for changed memory every hour and applies what is safe; 4 operations wait for your decision.',
      action: 'review',
    });
    expect(tell({ dream_mode: 'review', dream_interval_minutes: 90 })).toMatchObject({
      text: 'Dreaming is on: it looks for changed memory every 90 minutes and applies nothing by itself. Nothing waits.',
      action: null,
    });
  });
});
