import { expect, it } from 'vitest';
import { NUMBER_SETTINGS, RUN_STATES, SKIP_REASONS } from '../../console/src/dream-answers.ts';
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
