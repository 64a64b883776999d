import type { Migration } from '../migration.ts';
import { memory } from './0001-memory.ts';
import { search } from './0002-search.ts';
import { observability } from './0003-observability.ts';
import { vectors } from './0004-vectors.ts';
import { dreams } from './0005-dreams.ts';
import { accessLines } from './0006-access-lines.ts';
import { scopeHold } from './0007-scope-hold.ts';
import { dreamOperations } from './0008-dream-operations.ts';
import { historyChain } from './0009-history-chain.ts';
import { erasure } from './0010-erasure.ts';
import { lastShown } from './0011-last-shown.ts';
import { coveredBases } from './0012-covered-bases.ts';
import { orderByNumber } from './0013-order-by-number.ts';
import { runsOfPlugins } from './0014-runs-of-plugins.ts';
import { stepsOfRuns } from './0015-steps-of-runs.ts';
import { redactedTexts } from './0016-redacted-texts.ts';
import { whatReverts } from './0017-what-reverts.ts';
import { segments } from './0018-segments.ts';
import { keysAndOperators } from './0019-keys-and-operators.ts';
import { spaces } from './0020-spaces.ts';
import { lineages } from './0021-lineages.ts';
import { spaceTimes } from './0022-space-times.ts';
import { writesOfSeveralFiles } from './0023-writes-of-several-files.ts';
import { runsOfSpaces } from './0024-runs-of-spaces.ts';
import { checkResults } from './0025-check-results.ts';
import { tokensOfADay } from './0026-tokens-of-a-day.ts';

/** Every migration, oldest first: the place in the list is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [
  memory,
  search,
  observability,
  vectors,
  dreams,
  accessLines,
  scopeHold,
  dreamOperations,
  historyChain,
  erasure,
  lastShown,
  coveredBases,
  orderByNumber,
  runsOfPlugins,
  stepsOfRuns,
  redactedTexts,
  whatReverts,
  segments,
  keysAndOperators,
  spaces,
  lineages,
  spaceTimes,
  writesOfSeveralFiles,
  runsOfSpaces,
  checkResults,
  tokensOfADay,
];
