import { index, type Migration } from '../migration.ts';

/** For the tokens that the runs of a plugin have used on one day, of all users and spaces together. */
export const tokensOfADay: Migration = {
  version: 26,
  name: 'tokens of a day',
  steps: [
    index('svc_dream_run_tokens', 'svc_dream_run', ['tokens_day', 'tokens_used']),
    index('svc_plugin_user_tokens', 'svc_plugin_user', ['plugin', 'tokens_day', 'tokens_used']),
  ],
};
