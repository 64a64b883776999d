// The real model if there is a key for it, else the scripted model.

/** @import { Script } from './server.mjs' */
/** @typedef {{ name: string, apiKey: string, baseURL: string, close: () => Promise<void> }} Model */

import { startScriptedModel } from './server.mjs';

/**
 * @param {Script[]} turns
 * @returns {Promise<Model>}
 */
export async function openAiModel(turns) {
  const { OPENAI_API_KEY: apiKey, OPENAI_MODEL: name = 'gpt-5-mini' } = process.env;
  const { OPENAI_BASE_URL: baseURL = 'https://api.openai.com/v1' } = process.env;
  if (apiKey) return { name, apiKey, baseURL, close: async () => {} };
  const { url, close } = await startScriptedModel(turns);
  return { name: 'scripted', apiKey: 'none', baseURL: `${url}/v1`, close };
}

/**
 * @param {Script[]} turns
 * @returns {Promise<Model>}
 */
export async function anthropicModel(turns) {
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_MODEL: name = 'claude-sonnet-5' } = process.env;
  const { ANTHROPIC_BASE_URL: baseURL = 'https://api.anthropic.com' } = process.env;
  if (apiKey) return { name, apiKey, baseURL, close: async () => {} };
  const { url, close } = await startScriptedModel(turns);
  return { name: 'scripted', apiKey: 'none', baseURL: url, close };
}
