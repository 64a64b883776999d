import { expect, it } from 'vitest';
import { PatchBudget } from '../../../core/files/patch-budget.ts';

const MAX_STEPS = 2 ** 24;

it('takes as many steps as a patch may have, in one piece or in several', () => {
  expect(() => new PatchBudget().spend(MAX_STEPS)).not.toThrow();
  const budget = new PatchBudget();
  budget.spend(MAX_STEPS - 1);
  budget.spend(0);
  expect(() => budget.spend(1)).not.toThrow();
});

it('refuses one step more, and says what to do', () => {
  const budget = new PatchBudget();
  budget.spend(MAX_STEPS);
  try {
    budget.spend(1);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({
      code: 'WORK_LIMIT_EXCEEDED',
      status: 422,
      message:
        'The edits search and replace too much for one patch. Split the patch, or write the whole file.',
      details: { limit: 'patchSteps', max: MAX_STEPS },
    });
  }
});
