import OpenAI from 'openai';
import type { ProviderFetch } from './fetch.ts';

/** The SDK's client as a provider uses it: nothing from the environment, no retries, no logs. */
export function createOpenAIClient({
  baseUrl,
  apiKey,
  fetch,
  timeoutMs,
}: {
  baseUrl: string;
  apiKey: string | null;
  fetch: ProviderFetch;
  timeoutMs: number;
}): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    // The SDK wants one; servers that ask for none don't look at it.
    apiKey: apiKey ?? 'none',
    // Else they would be read from the environment.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    fetch,
    maxRetries: 0,
    timeout: timeoutMs,
    // It logs prompts.
    logLevel: 'off',
  });
}
