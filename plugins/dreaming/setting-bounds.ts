/** The least and the greatest value of each setting that is a number, for the service and its console. */
export const SETTING_BOUNDS = {
  dream_interval_minutes: { min: 1, max: 10_080 },
  dream_grace_period_minutes: { min: 0, max: 10_080 },
  dream_max_writes: { min: 1, max: 100 },
  dream_concurrency: { min: 1, max: 32 },
  dream_waiting_days: { min: 1, max: 365 },
  dream_max_tokens_per_user_day: { min: 0, max: 100_000_000 },
  dream_max_tokens_per_day: { min: 0, max: 100_000_000_000 },
  dream_max_reply_tokens: { min: 1_000, max: 200_000 },
  dream_run_timeout_seconds: { min: 30, max: 3_600 },
} as const;
