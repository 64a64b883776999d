/** What the rows of a table hold, in words for an operator. Tables of one subject share their words. */
const LABELS: Readonly<Record<string, string>> = {
  svc_file: 'Files, deleted ones too',
  svc_content: 'Contents of files',
  svc_revision: 'Revisions',
  svc_pruned_revision: 'Hashes of pruned revisions',
  svc_access_log: 'Access log',
  svc_file_stat: 'Read counts of files',
  svc_event: 'Events of tool calls',
  svc_rollup: 'Totals for the dashboard',
  svc_idempotency: 'Answers kept for repeated calls',
  svc_index_state: 'Search index',
  svc_index_doc: 'Search index',
  svc_index_queue: 'Search index',
  svc_posting: 'Search index',
  svc_segment: 'Search index',
  svc_segment_block: 'Search index',
  svc_passage_list: 'Vectors, and passages to embed',
  svc_vector_state: 'Vectors, and passages to embed',
  svc_vector: 'Vectors, and passages to embed',
  svc_embed_queue: 'Vectors, and passages to embed',
  svc_dream_run: 'State of dreaming',
  svc_budget: 'State of dreaming',
  svc_lease: 'State of dreaming',
  svc_dream_history: 'Dream runs',
  svc_plugin_user: 'State of plugins',
  svc_space: 'Settings of a space',
  svc_check_result: 'Results of checks',
};

/**
 * The rows of an erasure by what they hold, instead of by table, files first. A table of another
 * storage driver keeps its name. Counts of 0 are left out.
 */
export function labelRows(tables: Readonly<Record<string, number>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const table of new Set([...Object.keys(LABELS), ...Object.keys(tables)])) {
    const count = tables[table] ?? 0;
    const label = LABELS[table] ?? table;
    if (count > 0) counts[label] = (counts[label] ?? 0) + count;
  }
  return counts;
}
