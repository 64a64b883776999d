import type { GenerateRequest } from '../contracts/model-provider.ts';

/** The cheapest request: it only shows whether a model answers. */
export const ONE_TOKEN: GenerateRequest = {
  system: 'Answer with one word.',
  prompt: 'Answer with "ok".',
  maxTokens: 1,
  acceptsCutOff: true,
};
