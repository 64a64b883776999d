import type { Candidate } from '../plan.ts';

// What speaks to the agent that will read this, not about the user.
const INSTRUCTIONS = [
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|earlier|above|all|any|your|the)\b/i,
  /\b(?:system|developer)\s{1,3}(?:prompt|message|instruction)/i,
  /\byou\s{1,3}(?:must|should|shall|will|are|have to|need to)\b/i,
  /\b(?:assistant|agent|model|ai|llm|bot)s?\s{1,3}(?:must|should|shall|will|has to|have to|needs to|may)\b/i,
  /\b(?:always|never)\s{1,3}(?:respond|reply|answer|say|tell|send|call|run|execute|reveal|mention|ask|include|recommend)\b/i,
  /\b(?:from now on|act as|pretend to|do not tell|don't tell|respond with|reply with|output only)\b/i,
  /\b(?:send|forward|post|upload|email|exfiltrate)\b.{0,60}\b(?:to|at)\b.{0,20}(?:https?:|www\.|@)/i,
  /\b(?:curl|wget|powershell|rm -rf|sudo|eval)\b/i,
  /<\|?\/?\s{0,3}(?:system|assistant|user|im_start|im_end|tool|instructions?)\b/i,
  /\[\/?inst\]/i,
  /\bmemory_(?:write|patch|delete|move|remember)\b/i,
  /\b(?:ignoriere|vergiss)\b.{0,40}\b(?:alle|bisherigen|vorherigen)\b/i,
  /\b(?:ignore[rz]?|oublie[rz]?)\b.{0,40}\b(?:instructions|consignes)\b/i,
  /\bignora\b.{0,40}\b(?:instrucciones|istruzioni|instruções)\b/i,
  /忽略.{0,20}(?:指令|指示|之前)|你必须|無視して/u,
];

/** No instruction to an agent that was not there. */
export function checkInstructions({ operation, added, grounds }: Candidate): string | null {
  const texts = [...added, operation.add?.heading ?? ''];
  for (const form of INSTRUCTIONS) {
    for (const text of texts) {
      const said = form.exec(text)?.[0];
      if (said !== undefined && !grounds.toLowerCase().includes(said.toLowerCase())) {
        return 'it reads like an instruction that no source has';
      }
    }
  }
  return null;
}
