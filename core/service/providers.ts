import type { MemoryServiceConfig } from '../config/service.ts';
import type { Embedder } from '../contracts/embedder.ts';
import { createProviderHealth, type ProviderHealth } from '../providers/provider-health.ts';
import { checkInTime, type GuardedModel, guardModel } from '../subagents/guarded-model.ts';
import type { Basis } from './basis.ts';

/** The models and the embedder of a service; `null` where one is not configured. */
export interface Providers {
  model: GuardedModel | null;
  verifier: GuardedModel | null;
  embedder: Embedder | null;
  /** Whether each of them answers, by its latest call. */
  health: Readonly<Record<'model' | 'verifier' | 'embedder', ProviderHealth>>;
  /**
   * Asks the models in the background whether they answer, if that costs next to nothing. Each failure
   * is in the status and in the log.
   */
  checkModels(signal: AbortSignal): void;
}

const NO_PROVIDER = { name: '', model: '' };

/** Follows the health of each provider that a configuration names. */
export function createProviders(
  { now, log }: Basis,
  {
    model: ownModel = null,
    verifier: ownVerifier = null,
    embedder = null,
  }: Pick<MemoryServiceConfig, 'model' | 'verifier' | 'embedder'>,
): Providers {
  const follow = (
    provider: { name: string; model: string } | null,
    words: { name: string; effect?: string },
  ) => createProviderHealth({ ...words, provider: provider ?? NO_PROVIDER, now, log });
  const health = {
    model: follow(ownModel, { name: 'the model' }),
    verifier: follow(ownVerifier, { name: 'the verifier' }),
    embedder: follow(embedder, { name: 'the embedder', effect: 'finds use words only' }),
  };
  const model = ownModel === null ? null : guardModel(ownModel, health.model);
  const verifier = ownVerifier === null ? null : guardModel(ownVerifier, health.verifier);
  return {
    model,
    verifier,
    embedder,
    health,
    checkModels(signal) {
      for (const [given, guarded] of [
        [ownModel, model],
        [ownVerifier, verifier],
      ] as const) {
        // Without a check of its own, a model would have to write something each time.
        if (given?.check !== undefined)
          void checkInTime(guarded as GuardedModel, signal).catch(() => undefined);
      }
    },
  };
}
