// #region config
import { defineConfig } from 'memory-service/config';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { dailyNotes } from '../custom-plugin/daily-notes.mjs';

export default defineConfig({
  storage: sqlite({ filename: './data/memory.db' }),
  plugins: [dailyNotes({ folder: 'diary' })],
  limits: { maxFilesPerUser: 1_000 },
  tools: { delete: true },
  retention: { eventsDays: 14 },
  logLevel: 'warn',
});
// #endregion
