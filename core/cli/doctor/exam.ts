import { loadConfig } from '../../config/index.ts';
import type { ExamPart, ModelExam } from '../../contracts/admin.ts';
import { useProxies } from '../../network/proxy.ts';
import { NOBODY } from '../../telemetry/audit.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FAILED } from '../failure.ts';
import { onCore } from '../on-core.ts';
import { workOnMemory } from '../open-memory.ts';
import { createProgress } from '../running-server.ts';
import { writeOutput } from '../streams.ts';

/** `memory-service doctor --model`: examines the models, in the running server where there is one. */
export async function examineModels(context: CommandContext, isJson: boolean): Promise<void> {
  const loaded = await loadConfig(context);
  useProxies(loaded.proxies);
  const progress = createProgress('questions');
  const exam = await workOnMemory<ModelExam>(loaded, {
    mayCreate: true,
    there: (server) => server.runJob('model/exam', { progress }),
    here: (config) => onCore(loaded, config, (core) => core.exam.run(NOBODY, progress)),
  });
  if (isJson) writeOutput(`${JSON.stringify(exam, null, 2)}\n`);
  else writeOutput(`${[...exam.parts.flatMap(toLines), '', ...exam.expect].join('\n')}\n`);
  if (exam.parts.some(({ passed }) => !passed)) process.exitCode = EXIT_FAILED;
}

function toLines(part: ExamPart): string[] {
  const what = { files: 'files facts', judges: 'judges edits' }[part.part];
  const { provider, model, form, score, of, seconds, inputTokens, outputTokens } = part;
  return [
    `${provider}, ${model}: ${what}, ${score} of ${of} with the ${form} prompts, ${seconds} s, ${inputTokens} tokens in, ${outputTokens} out`,
    ...part.failed.map((kind) => `  failed to ${kind}`),
  ];
}
