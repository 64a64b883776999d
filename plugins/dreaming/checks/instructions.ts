import { bringsInstruction } from '../../../core/edits/instructions.ts';
import type { Candidate } from '../plan.ts';

/** No instruction to an agent that was not there. */
export function checkInstructions({ operation, added, grounds }: Candidate): string | null {
  const texts = [...added, operation.add?.heading ?? ''];
  return texts.some((text) => bringsInstruction(text, grounds))
    ? 'it reads like an instruction that no source has'
    : null;
}
