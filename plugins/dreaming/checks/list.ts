import type { Checks } from '../plan.ts';
import { checkCatalog } from './catalog.ts';
import { checkChange } from './change.ts';
import { checkConflict } from './conflict.ts';
import { checkContext } from './context.ts';
import { checkCorrection } from './correction.ts';
import { checkInstructions } from './instructions.ts';
import { checkInvention } from './invention.ts';
import { checkLanguage } from './language.ts';
import { checkMeaning } from './meaning.ts';
import { checkOrder } from './order.ts';
import { checkPlace } from './place.ts';
import { checkRemovedShare } from './removed-share.ts';
import { checkScope } from './scope.ts';
import { checkSecrets } from './secrets.ts';
import { checkShape } from './shape.ts';
import { checkSources } from './sources.ts';
import { checkSpecifics } from './specifics.ts';
import { checkStructure } from './structure.ts';
import { checkTranscript } from './transcript.ts';
import { checkWriteBudget } from './write-budget.ts';

/** Every rule that an operation passes before it is applied, in the order in which they are asked. */
export const CHECKS: Checks = {
  scope: checkScope,
  sources: checkSources,
  shape: checkShape,
  structure: checkStructure,
  transcript: checkTranscript,
  conflict: checkConflict,
  change: checkChange,
  catalog: checkCatalog,
  place: checkPlace,
  context: checkContext,
  specifics: checkSpecifics,
  secrets: checkSecrets,
  instructions: checkInstructions,
  invention: checkInvention,
  language: checkLanguage,
  meaning: checkMeaning,
  correction: checkCorrection,
  removed_share: checkRemovedShare,
  order: checkOrder,
  write_budget: checkWriteBudget,
};
