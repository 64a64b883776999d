import type { AuditCaller } from '../../contracts/plugin.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import { MemoryError } from '../../errors.ts';
import { createJob } from '../../maintenance/job.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { ExamAnswer, ExamJob } from '../../schemas/model-exam.ts';
import type { Core } from '../../service.ts';

/** Examines the models. `memory-service doctor --model` calls this on a running server. */
export function modelExamRoutes(core: Pick<Core, 'exam' | 'parts' | 'log'>): RouteDefinition[] {
  const { exam, parts, log } = core;
  const job = createJob({
    name: 'model exam',
    log,
    work: (caller: AuditCaller, progress) => exam.run(caller, progress),
  });
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/model/exam',
      role: 'admin',
      summary: 'Examine the models',
      description:
        'Answers at once: the models are asked a dozen kinds of questions through the real prompts, about a memory that is made up each time. It takes seconds to minutes, and tokens. It never runs by itself. A model that fails at judging edits is not asked for verdicts any more.',
      resultSchema: ExamJob,
      status: 202,
      errorCodes: ['MODEL_NOT_CONFIGURED'],
      handle(request) {
        if (parts.model === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
        return job.start(request.caller);
      },
    }),
    adminRoute('Status', {
      method: 'GET',
      path: '/v1/admin/model/exam',
      role: 'viewer',
      summary: 'Read what the exam says of the models',
      description:
        'The results of the models that are configured, kept by provider, address, model and version of the prompts, and how far an exam is that this process began.',
      resultSchema: ExamAnswer,
      handle: async () => ({ exam: await exam.read(), job: job.state() }),
    }),
  ];
}
